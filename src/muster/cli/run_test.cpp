#include "muster/cli/run.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cli/cli_testing.h"
#include "tests/support/temp_dir.h"

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Run, PutsTheRankBeforeEachLine) {
  const Outcome outcome = run_with({"run", "-n", "2", "--", "sh", "-c", "printf 'a\\nb'"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("[0] a\n"), HasSubstr("[0] b\n"), HasSubstr("[1] a\n"),
                                 HasSubstr("[1] b\n")));
}

TEST(Run, LeavesTheOutputAloneWhenAsked) {
  EXPECT_EQ(run_with({"run", "--no-prefix", "-n", "1", "printf", "a"}).out, "a");
}

TEST(Run, GivesTheProgramItsOptions) {
  EXPECT_EQ(run_with({"run", "-n", "1", "echo", "-n", "--help", "--", "x"}).out,
            "[0] --help -- x\n");
  EXPECT_EQ(run_with({"run", "-n", "1", "--", "echo", "--", "x"}).out, "[0] -- x\n");
  EXPECT_EQ(run_with({"run", "--ranks=1", "--no-prefix", "--", "echo", "-n", "x"}).out, "x");
  EXPECT_EQ(run_with({"run", "-n1", "--grace", "1s", "--", "echo", "x"}).out, "[0] x\n");
}

TEST(Run, PassesTheExitStatusThroughAndSaysWhoFailed) {
  const Outcome outcome =
      run_with({"run", "-n", "2", "sh", "-c", "[ $MUSTER_RANK = 1 ] && exit 7; exec sleep 100"});
  EXPECT_EQ(outcome.status, 7);
  EXPECT_EQ(outcome.err, "muster: rank 1 of 2: exit code 7\n");
}

TEST(Run, KeepsGoingWhenAskedAndEndsWithTheStatusOfTheRankThatFailed) {
  const test::TempDir folder;
  const std::string pid = (folder.path() / "pid").string();
  const std::string killed = fmt::format("echo $$ > {0}.new; mv {0}.new {0}; kill -9 $$", pid);
  const std::string waits = fmt::format(
      "until [ -e {0} ]; do sleep 0.01; done; while kill -0 $(cat {0}); do sleep 0.01; done "
      "2>/dev/null; echo goes on",
      pid);
  const std::string script = fmt::format("[ $MUSTER_RANK = 1 ] && {{ {}; }}; {}", killed, waits);
  const Outcome outcome = run_with({"run", "-n", "2", "--keep-going", "--", "sh", "-c", script});
  EXPECT_EQ(outcome.out, "[0] goes on\n");
  EXPECT_EQ(outcome.status, 128 + SIGKILL);
  EXPECT_THAT(outcome.err, HasSubstr("muster: rank 1 of 2: signal 9 (SIGKILL)"));
}

/// A full disk.
class Full : public std::streambuf {
 protected:
  int overflow(int /*character*/) override {
    errno = ENOSPC;
    return traits_type::eof();
  }
};

TEST(Run, SaysWhenOutputIsLostAndFails) {
  for (const bool no_prefix : {false, true}) {
    Full disk;
    std::ostream out(&disk);
    std::ostringstream err;
    std::vector<const char*> argv = {"muster", "run", "-n", "2", "--", "echo", "hi"};
    if (no_prefix) argv.insert(argv.begin() + 2, "--no-prefix");
    EXPECT_EQ(run(static_cast<int>(argv.size()), argv.data(), {out, err}), kFailed);
    EXPECT_EQ(err.str(), "muster: cannot write what the ranks print: No space left on device\n");
  }
}

// As `2>&1 |` has it, with a reader that takes a little at a time.
TEST(Run, LeavesLinesWholeThatGoIntoOnePipe) {
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::string all;
  std::thread reader([&] {
    std::array<char, 4096> piece;
    for (ssize_t count = 0; (count = ::read(ends[0], piece.data(), piece.size())) > 0;)
      all.append(piece.data(), static_cast<std::size_t>(count));
  });
  const std::string script = "seq 10000 40000 & seq 10000 40000 >&2; wait; exit 3";
  const std::vector<const char*> argv = {"muster", "run", "-n", "2",           "--keep-going",
                                         "--",     "sh",  "-c", script.c_str()};
  std::ostringstream unused;
  EXPECT_EQ(run(static_cast<int>(argv.size()), argv.data(),
                {.out = unused, .err = unused, .out_fd = ends[1], .err_fd = ends[1]}),
            3);
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(unused.str(), "");
  std::istringstream lines(all);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const bool is_number =
        line.size() == 9 && (line.starts_with("[0] ") || line.starts_with("[1] "));
    const bool is_last = line.starts_with("muster: rank ") && line.ends_with(" of 2: exit code 3");
    ASSERT_TRUE(is_number || is_last) << line;
  }
  EXPECT_EQ(count, 4u * 30'001 + 1);
}

TEST(Run, RefusesWhatLooksLikeAnOptionAndIsNone) {
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"run", "--no-prefx", "-n", "2", "--", "true"},
        {"run", "-n", "2", "--no-prefx", "true"},
        {"run", "-n2", "--no-prefx=1", "true"}}) {
    const Outcome outcome = run_with(line);
    EXPECT_EQ(outcome.status, kUsageError);
    EXPECT_THAT(outcome.err, HasSubstr("unknown option '--no-prefx'; did you mean '--no-prefix'?"));
  }
  EXPECT_THAT(run_with({"run", "-n", "2", "--rank", "3"}).err,
              HasSubstr("unknown option '--rank'; did you mean '--ranks'?"));
  EXPECT_THAT(run_with({"run", "-x", "3", "-n", "2"}).err, HasSubstr("unknown option '-x'"));
}

TEST(Run, ReadsNoOptionsBehindTheSeparator) {
  const Outcome outcome = run_with({"run", "-n", "1", "--", "--no-prefix", "-n"});
  EXPECT_NE(outcome.status, kUsageError);
  EXPECT_THAT(outcome.err, HasSubstr("--no-prefix"));  // there is no such program
  EXPECT_THAT(run_with({"run", "-n", "1", "--"}).err, HasSubstr("no program to run"));
}

TEST(Run, SetsVariables) {
  const Outcome outcome =
      run_with({"run", "-n", "1", "-e", "A=x y", "--env", "B=2", "sh", "-c", "echo $A $B"});
  EXPECT_EQ(outcome.out, "[0] x y 2\n");
}

TEST(Run, ColoursRanksOnATerminal) {
  const Outcome outcome = run_with({"run", "-n", "1", "echo", "hi"}, true);
  EXPECT_EQ(outcome.out, "\033[31m[0] \033[0mhi\n");
}

TEST(Run, SaysWhatIsWrongWithTheCommandLine) {
  EXPECT_THAT(run_with({"run", "-n", "2"}).err, HasSubstr("no program to run"));
  EXPECT_EQ(run_with({"run", "-n", "0", "true"}).status, kUsageError);
  EXPECT_EQ(run_with({"run", "true"}).status, kUsageError);
  EXPECT_THAT(run_with({"run", "-n", "1", "-e", "x", "true"}).err, HasSubstr("NAME=VALUE"));
  EXPECT_THAT(run_with({"run", "-n", "1", "--grace", "soon", "true"}).err, HasSubstr("'soon'"));
}

TEST(Run, HelpsWithExamples) {
  EXPECT_THAT(run_with({"run", "--help"}).out,
              AllOf(HasSubstr("muster run [OPTIONS] -- PROGRAM [ARGUMENT...]\n"),
                    HasSubstr("muster run -n 4 -- python"), HasSubstr("--no-prefix"),
                    Not(HasSubstr("required"))));
}

}  // namespace
}  // namespace muster::cli
