#include "muster/cluster/launch/process/rank_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <signal.h>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/base/clock.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/process_life.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

struct Outcome {
  RankRunResult result;
  std::map<unsigned, std::string> out;
  std::map<unsigned, std::string> err;
};

Outcome run_shell(unsigned ranks, const std::string& script,
                  milliseconds a_piece_takes = milliseconds(0)) {
  Outcome outcome;
  const auto result =
      run_ranks({.ranks = ranks, .command = {"/bin/sh", "-c", script}, .grace = seconds(2)},
                [&](unsigned rank, RankStream stream, std::string_view piece) {
                  (stream == RankStream::out ? outcome.out : outcome.err)[rank] += piece;
                  std::this_thread::sleep_for(a_piece_takes);
                });
  EXPECT_TRUE(result) << result.error().message();
  if (result) outcome.result = *result;
  return outcome;
}

// Waits for a file with a whole line, and returns the number in it.
pid_t await_pid(const std::filesystem::path& file) {
  const TimePoint deadline = SteadyClock().now() + seconds(10);
  while (SteadyClock().now() < deadline) {
    std::ifstream stream(file);
    std::string line;
    if (std::getline(stream, line) && !stream.eof()) return std::stoi(line);
    std::this_thread::sleep_for(milliseconds(2));
  }
  ADD_FAILURE() << file << " does not come";
  return -1;
}

bool goes_away(pid_t pid) {
  const TimePoint deadline = SteadyClock().now() + seconds(10);
  while (process_runs(pid, process_start(pid)) && SteadyClock().now() < deadline) {
    std::this_thread::sleep_for(milliseconds(2));
  }
  return !process_runs(pid, process_start(pid));
}

// Waits for the letter that /proc shows of a process: 'T' is stopped, 'S' waits for something.
bool becomes(pid_t pid, char wanted) {
  const TimePoint deadline = SteadyClock().now() + seconds(10);
  while (SteadyClock().now() < deadline) {
    std::ifstream stream("/proc/" + std::to_string(pid) + "/stat");
    std::string number;
    std::string name;
    char state = 0;
    if (stream >> number >> name >> state && state == wanted) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return false;
}

bool ignores(pid_t pid, int number) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with("SigIgn:"))
      return (std::stoull(line.substr(7), nullptr, 16) >> (number - 1) & 1) != 0;
  return false;
}

TEST(RankRun, GivesEachRankItsPlace) {
  const Outcome outcome =
      run_shell(3, "echo $MUSTER_RANK of $MUSTER_SIZE in $MUSTER_GROUP; echo $COMPONENT_NAME >&2");
  EXPECT_EQ(outcome.result.exit_code, 0);
  ASSERT_EQ(outcome.out.size(), 3u);
  EXPECT_THAT(outcome.out.at(0), HasSubstr("0 of 3 in run-"));
  EXPECT_THAT(outcome.out.at(2), HasSubstr("2 of 3 in run-"));
  EXPECT_EQ(outcome.err.at(1), "rank_1\n");
  EXPECT_EQ(outcome.out.at(0).substr(1), outcome.out.at(2).substr(1));
}

TEST(RankRun, KeepsRanksInOneSessionSoThatTheyCanYieldToEachOther) {
  // The sixth field of a process's status; rank 0 has a session of its own if it has a terminal.
  const Outcome outcome =
      run_shell(3, "read pid name state parent group session rest < /proc/$$/stat; echo $session");
  const std::string session = std::to_string(::getsid(0)) + "\n";
  EXPECT_EQ(outcome.out.at(1), session);
  EXPECT_EQ(outcome.out.at(2), session);
}

TEST(RankRun, EndsAllRanksWhenOneFails) {
  const Outcome outcome = run_shell(3, "[ $MUSTER_RANK = 1 ] && exit 7; exec sleep 1000");
  EXPECT_EQ(outcome.result.exit_code, 7);
  EXPECT_EQ(outcome.result.failed_rank, 1u);
}

TEST(RankRun, TellsTheSignalAsAShellDoes) {
  const Outcome outcome = run_shell(2, "[ $MUSTER_RANK = 0 ] && kill -SEGV $$; exec sleep 1000");
  EXPECT_EQ(outcome.result.exit_code, 128 + SIGSEGV);
  EXPECT_EQ(outcome.result.record.description(), "signal 11 (SIGSEGV)");
}

TEST(RankRun, SaysThatThereIsNoSuchProgram) {
  const auto result = run_ranks({.ranks = 2, .command = {"no-such-program"}},
                                [](unsigned, RankStream, std::string_view) {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 127);
  EXPECT_THAT(result->record.description(), HasSubstr("no-such-program"));
}

TEST(RankRun, LosesNoOutput) {
  const Outcome outcome = run_shell(2, "yes x | head -c 1000000");
  EXPECT_EQ(outcome.out.at(0).size(), 1'000'000u);
  EXPECT_EQ(outcome.out.at(1).size(), 1'000'000u);
}

// What a rank prints while another piece is written, and then ends.
TEST(RankRun, LosesNoOutputWhenItIsWrittenSlowly) {
  const Outcome outcome = run_shell(
      2, "for i in $(seq 300); do echo $i; done; echo last >&2; echo last", milliseconds(20));
  for (const unsigned rank : {0u, 1u}) {
    EXPECT_TRUE(outcome.out.at(rank).ends_with("300\nlast\n")) << outcome.out.at(rank);
    EXPECT_EQ(outcome.err.at(rank), "last\n");
  }
}

// A run in a process of its own, which writes all streams to one pipe. The first rank prints
// without end.
class RunIntoPipe : public testing::Test {
 protected:
  void start(milliseconds grace, const std::string& first = "exec yes") {
    std::array<int, 2> ends{-1, -1};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const FileDescriptor out(ends[1]);
    in_ = FileDescriptor(ends[0]);
    const std::string script = "echo $$ > " + file("$MUSTER_RANK") +
                               "; [ $MUSTER_RANK = 0 ] && { " + first +
                               "; }; sleep 0.2; echo here; exec sleep 100";
    run_ = std::make_unique<test::Child>([&] {
      for (const int number : {SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
      in_.reset();
      std::vector<OutputQueue> queues;
      queues.emplace_back(out.get());
      const auto result = run_ranks(
          {.ranks = 2, .command = {"/bin/sh", "-c", script}, .grace = grace},
          [&](unsigned, RankStream, std::string_view piece) { queues.front().add(piece); }, queues,
          [&](const Result<RankRunResult>&) { queues.front().add("the end"); });
      ::_exit(result ? result->exit_code : 1);
    });
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return (folder_.path() / name).string();
  }
  // Until the first rank waits for a reader. A pipe has 64 KiB, in pages that need not be full.
  void await_full() const {
    constexpr int kFull = 56 << 10;
    const TimePoint deadline = SteadyClock().now() + seconds(10);
    int bytes = 0;
    while (bytes < kFull && SteadyClock().now() < deadline) {
      ASSERT_EQ(::ioctl(in_.get(), FIONREAD, &bytes), 0);
      std::this_thread::sleep_for(milliseconds(50));
    }
    EXPECT_GE(bytes, kFull);
  }
  // A little, and slowly. Nothing when the run has ended.
  [[nodiscard]] std::string read() const {
    std::this_thread::sleep_for(milliseconds(1));
    std::string text(4096, '\0');
    const ssize_t count = ::read(in_.get(), text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
  }
  // Whether it comes while there is much else to read.
  [[nodiscard]] bool reads(const std::string& word) const {
    const TimePoint deadline = SteadyClock().now() + seconds(20);
    std::string text;
    for (std::string more = read(); !more.empty() && SteadyClock().now() < deadline;
         more = read()) {
      text = text.substr(text.size() - std::min(text.size(), word.size())) + more;
      if (text.find(word) != std::string::npos) return true;
    }
    return false;
  }

  test::TempDir folder_;
  FileDescriptor in_;
  std::unique_ptr<test::Child> run_;
};

TEST_F(RunIntoPipe, HearsSignalsWhileNobodyReads) {
  start(milliseconds(200));
  const std::array pids{await_pid(file("0")), await_pid(file("1"))};
  await_full();
  run_->signal(SIGTERM);
  EXPECT_EQ(run_->wait(), 128 + SIGTERM);
  EXPECT_TRUE(std::ranges::all_of(pids, goes_away));
}

TEST_F(RunIntoPipe, LeavesAtOnceWhenItIsToldTwice) {
  start(seconds(100));
  const std::array pids{await_pid(file("0")), await_pid(file("1"))};
  await_full();
  run_->signal(SIGTERM);
  EXPECT_TRUE(std::ranges::all_of(pids, goes_away));
  EXPECT_FALSE(run_->ended());
  run_->signal(SIGTERM);
  EXPECT_EQ(run_->wait(), 128 + SIGTERM);
}

TEST_F(RunIntoPipe, GivesEachRankItsTurnBesideOneThatPrintsWithoutEnd) {
  start(milliseconds(200));
  EXPECT_TRUE(reads("here"));
}

TEST_F(RunIntoPipe, GivesErrorsTheirTurnBesideWhatTheirRankPrintsWithoutEnd) {
  start(milliseconds(200), "(sleep 0.2; echo error >&2; exec sleep 100) & exec yes");
  EXPECT_TRUE(reads("error"));
}

TEST_F(RunIntoPipe, WritesWhatWasPrintedAndTheLastWordsToWhoReadsLate) {
  start(seconds(100));
  EXPECT_TRUE(reads("y\ny\n"));
  run_->signal(SIGTERM);
  EXPECT_TRUE(reads("the end"));
  EXPECT_EQ(run_->wait(), 128 + SIGTERM);
}

class RankRunProcess : public testing::Test {
 protected:
  // `muster run` as a process of its own, whose ranks write their pids to files and stay. They
  // start nothing meanwhile: a shell cannot be stopped while the program that it starts is stopped
  // before it has begun.
  std::unique_ptr<test::Child> start(const std::string& before, int ignored = 0) {
    const std::string script = before + "sleep 1000 & echo $$ > " + folder_.path().string() +
                               "/$MUSTER_RANK; while :; do wait; done";
    return std::make_unique<test::Child>([script, ignored] {
      // Whoever started the test may ignore some of them.
      for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCHLD})
        ::signal(number, number == ignored ? SIG_IGN : SIG_DFL);
      ::_exit(run_shell(2, script).result.exit_code);
    });
  }
  std::vector<pid_t> ranks() {
    return {await_pid(folder_.path() / "0"), await_pid(folder_.path() / "1")};
  }

  test::TempDir folder_;
};

TEST_F(RankRunProcess, PassesSignalsOn) {
  const auto run = start("trap 'exit 9' USR1; ");
  const auto pids = ranks();
  run->signal(SIGUSR1);
  EXPECT_EQ(run->wait(), 9);
  EXPECT_TRUE(std::ranges::all_of(pids, goes_away));
}

TEST_F(RankRunProcess, PassesOnWhatATerminalAndATimerSay) {
  for (const auto& [name, number] : {std::pair("WINCH", SIGWINCH), std::pair("ALRM", SIGALRM)}) {
    for (const char* rank : {"0", "1"}) std::filesystem::remove(folder_.path() / rank);
    const auto run = start(std::string("trap 'exit 9' ") + name + "; ");
    const auto pids = ranks();
    run->signal(number);
    EXPECT_EQ(run->wait(), 9) << name;
    EXPECT_TRUE(std::ranges::all_of(pids, goes_away)) << name;
  }
}

TEST_F(RankRunProcess, StopsWithItsRanksAndGoesOnWithThem) {
  const auto run = start("trap 'exit 9' USR1; ");
  const auto pids = ranks();
  run->signal(SIGTSTP);
  EXPECT_TRUE(becomes(run->pid(), 'T'));
  EXPECT_TRUE(std::ranges::all_of(pids, [](pid_t pid) { return becomes(pid, 'T'); }));
  run->signal(SIGCONT);
  EXPECT_TRUE(std::ranges::all_of(pids, [](pid_t pid) { return becomes(pid, 'S'); }));
  run->signal(SIGUSR1);
  EXPECT_EQ(run->wait(), 9);
}

// As `nohup` and shells without job control have it.
TEST_F(RankRunProcess, LeavesSignalsAloneThatWhoStartedItIgnores) {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTSTP}) {
    for (const char* rank : {"0", "1"}) std::filesystem::remove(folder_.path() / rank);
    const auto run = start("trap 'exit 9' USR1; ", number);
    const auto pids = ranks();
    EXPECT_TRUE(ignores(run->pid(), number)) << number;
    run->signal(number);
    run->signal(SIGUSR1);
    EXPECT_TRUE(std::ranges::all_of(pids, goes_away)) << number;
    EXPECT_EQ(run->wait(), 9) << number;
  }
}

TEST_F(RankRunProcess, TellsHowRanksEndedWhereTheKernelDoesNot) {
  const auto run = start("trap 'exit 9' USR1; ", SIGCHLD);
  const auto pids = ranks();
  EXPECT_TRUE(ignores(run->pid(), SIGCHLD));
  run->signal(SIGUSR1);
  EXPECT_EQ(run->wait(), 9);
  EXPECT_TRUE(std::ranges::all_of(pids, goes_away));
}

TEST_F(RankRunProcess, LeavesStoppedRanksTheTimeToEndProperlyWhenItIsKilled) {
  const auto done = folder_.path() / "done";
  const auto run = start("trap 'echo $$ > " + done.string() + "$MUSTER_RANK; exit' TERM; ");
  const auto pids = ranks();
  run->signal(SIGTSTP);
  EXPECT_TRUE(std::ranges::all_of(pids, [](pid_t pid) { return becomes(pid, 'T'); }));
  run->kill();
  EXPECT_TRUE(std::ranges::all_of(pids, goes_away));
  EXPECT_EQ(await_pid(done.string() + "0"), pids[0]);
  EXPECT_EQ(await_pid(done.string() + "1"), pids[1]);
}

TEST_F(RankRunProcess, EndsByAnInterrupt) {
  const auto run = start("");
  const auto pids = ranks();
  run->signal(SIGINT);
  EXPECT_EQ(run->wait(), 128 + SIGINT);
  EXPECT_TRUE(std::ranges::all_of(pids, goes_away));
}

TEST_F(RankRunProcess, LeavesEachRankItsTimeAfterAnInterrupt) {
  const std::string done = folder_.path().string() + "/done";
  const auto run =
      start("trap '[ $MUSTER_RANK = 0 ] || { sleep 0.3; echo 1 > " + done + "; }; exit 5' INT; ");
  ranks();
  run->signal(SIGINT);
  EXPECT_EQ(run->wait(), 5);
  EXPECT_TRUE(std::filesystem::exists(done));
}

TEST_F(RankRunProcess, EndsRanksThatIgnoreAnInterrupt) {
  const auto run = start("trap '' INT; ");
  const auto pids = ranks();
  run->signal(SIGINT);
  EXPECT_EQ(run->wait(), 128 + SIGTERM);
  EXPECT_TRUE(std::ranges::all_of(pids, goes_away));
}

TEST_F(RankRunProcess, LeavesNothingBehindWhenItIsKilled) {
  const auto run = start("");
  const auto pids = ranks();
  run->kill();
  EXPECT_TRUE(std::ranges::all_of(pids, goes_away));
}

}  // namespace
}  // namespace muster::cluster
