#include "muster/cluster/launch/process/shim.h"

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <signal.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/base/clock.h"
#include "muster/cluster/launch/process/claim.h"
#include "muster/cluster/launch/process/descendants.h"
#include "muster/cluster/launch/process/exit_record.h"
#include "muster/cluster/launch/process/shim_program.h"
#include "muster/runtime/child_process.h"
#include "muster/runtime/poll.h"
#include "muster/runtime/process_life.h"
#include "tests/support/temp_dir.h"

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// Tries until it is so, for at most ten seconds.
template <class Condition>
bool eventually(const Condition& condition) {
  const TimePoint deadline = SteadyClock().now() + seconds(10);
  while (SteadyClock().now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return condition();
}

class ShimTest : public testing::Test {
 protected:
  void TearDown() override {
    if (shim_) shim_->signal(SIGKILL);
    if (shim_) (void)ended(*shim_);
  }

  std::string folder() const { return folder_.path().string(); }
  std::string file(const std::string& name) const {
    std::ifstream stream(folder_.path() / name);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  ShimOrder shell(std::string script) const {
    return {.folder = folder(), .command = {"/bin/sh", "-c", std::move(script)}};
  }

  void start(const ShimOrder& order, std::vector<std::pair<int, int>> files = {}) {
    auto child = ChildProcess::spawn({.program = shim_program().value(),
                                      .arguments = order.arguments(),
                                      .files = std::move(files),
                                      .new_session = true});
    ASSERT_TRUE(child) << child.error().message();
    shim_.emplace(std::move(*child));
  }

  static bool ended(ChildProcess& child) {
    std::array slots{pollfd{.fd = child.fd(), .events = POLLIN, .revents = 0}};
    const TimePoint deadline = SteadyClock().now() + seconds(20);
    while (!child.try_wait() && SteadyClock().now() < deadline) (void)poll_until(slots, deadline);
    return child.try_wait().has_value();
  }

  ExitRecord run(const ShimOrder& order) {
    start(order);
    EXPECT_TRUE(ended(*shim_));
    const auto record = read_exit_record(folder());
    EXPECT_TRUE(record);
    return record.value_or(ExitRecord{});
  }

  // A line that the component wrote to the file, as soon as it is there.
  std::string await_line(const std::string& name) {
    EXPECT_TRUE(eventually([&] { return file(name).ends_with('\n'); })) << name;
    const std::string text = file(name);
    return text.substr(0, text.find('\n'));
  }
  pid_t await_pid(const std::string& name) { return std::stoi("0" + await_line(name)); }

  test::TempDir folder_;
  std::optional<ChildProcess> shim_;
};

bool gone(pid_t pid) { return !process_runs(pid, process_start(pid)); }

TEST_F(ShimTest, RecordsTheExitCodeAndKeepsTheOutput) {
  const ExitRecord record = run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(record.status, ExitStatus{.code = 3});
  EXPECT_LE(record.started_ms, record.ended_ms);
  EXPECT_EQ(file("log"), "out\nerr\n");
  EXPECT_EQ(shim_->try_wait()->code, 3);
}

TEST_F(ShimTest, RecordsTheSignal) {
  EXPECT_EQ(run(shell("kill -SEGV $$")).status, ExitStatus{.signal = SIGSEGV});
}

TEST_F(ShimTest, SaysThatThereIsNoSuchProgram) {
  const ExitRecord record = run({.folder = folder(), .command = {"no-such-program"}});
  EXPECT_EQ(record.status, ExitStatus{.code = 127});
  EXPECT_THAT(record.failure, HasSubstr("no-such-program"));
  EXPECT_THAT(file("log"), HasSubstr("no-such-program"));
}

TEST_F(ShimTest, SaysThatTheFolderCannotBeEntered) {
  ShimOrder order = shell("true");
  order.working_dir = "/nowhere";
  EXPECT_THAT(run(order).failure, HasSubstr("/nowhere"));
}

TEST_F(ShimTest, StartsInTheFolderAskedFor) {
  ShimOrder order = shell("pwd");
  order.working_dir = "/usr";
  run(order);
  EXPECT_EQ(file("log"), "/usr\n");
}

TEST_F(ShimTest, LeavesNoDescriptorOpenInTheComponent) {
  run({.folder = folder(), .command = {"ls", "/proc/self/fd"}});
  EXPECT_EQ(file("log"), "0\n1\n2\n3\n");
}

TEST_F(ShimTest, KeepsUpWithAComponentThatPrintsMuch) {
  ShimOrder order = shell("yes muster | head -c 3000000");
  order.log_bytes = 1'000'000;
  order.log_keep = 1;
  EXPECT_TRUE(run(order).status.success());
  EXPECT_EQ(std::filesystem::file_size(folder_.path() / "log.1"), 1'000'000u - 1'000'000u % 7);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "log.2"));
}

TEST_F(ShimTest, EndsTheGroupWithSigterm) {
  start(shell("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done"));
  EXPECT_EQ(await_line("log"), "ready");
  shim_->signal(SIGTERM);
  ASSERT_TRUE(ended(*shim_));
  EXPECT_EQ(read_exit_record(folder())->status, ExitStatus{.code = 5});
  EXPECT_THAT(file("log"), HasSubstr("bye"));
}

TEST_F(ShimTest, KillsWhatDoesNotEndInTheGraceTime) {
  ShimOrder order = shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  order.grace = milliseconds(50);
  start(order);
  EXPECT_EQ(await_line("log"), "ready");
  shim_->signal(SIGTERM);
  ASSERT_TRUE(ended(*shim_));
  EXPECT_EQ(read_exit_record(folder())->status, ExitStatus{.signal = SIGKILL});
}

TEST_F(ShimTest, PassesOtherSignalsOn) {
  start(shell("trap 'echo usr1; exit 0' USR1; echo ready; while :; do sleep 0.01; done"));
  EXPECT_EQ(await_line("log"), "ready");
  shim_->signal(SIGUSR1);
  ASSERT_TRUE(ended(*shim_));
  EXPECT_THAT(file("log"), HasSubstr("usr1"));
}

// The grandchild leaves the group and the session, and its parent ends at once.
std::string runaway(const std::string& folder, const std::string& how) {
  return "(setsid sh -c '" + how + "echo $$ > " + folder + "/runaway; sleep 1000' &) ; ";
}

TEST_F(ShimTest, LeavesNoOrphanOfAComponentThatEnds) {
  start(shell(runaway(folder(), "") + "while [ ! -s " + folder() +
              "/runaway ]; do sleep 0.01; done"));
  const pid_t orphan = await_pid("runaway");
  ASSERT_TRUE(ended(*shim_));
  EXPECT_TRUE(gone(orphan));
  EXPECT_TRUE(read_exit_record(folder())->status.success());
}

TEST_F(ShimTest, LeavesNoOrphanOfAComponentThatIsStopped) {
  ShimOrder order = shell(runaway(folder(), "trap \"\" TERM; ") + "sleep 1000");
  order.grace = milliseconds(50);
  start(order);
  const pid_t orphan = await_pid("runaway");
  shim_->signal(SIGTERM);
  ASSERT_TRUE(ended(*shim_));
  EXPECT_TRUE(gone(orphan));
}

TEST_F(ShimTest, TakesTheComponentWithItWhenItIsKilled) {
  start(shell("echo $$ > " + folder() + "/pid; exec sleep 1000"));
  const pid_t component = await_pid("pid");
  shim_->signal(SIGKILL);
  ASSERT_TRUE(ended(*shim_));
  EXPECT_TRUE(eventually([&] { return gone(component); }));
  EXPECT_FALSE(read_claim(folder())->held);
  EXPECT_FALSE(read_exit_record(folder()));
}

TEST_F(ShimTest, ClaimsItsFolderWhileItLives) {
  start(shell("echo $$ > " + folder() + "/pid; exec sleep 1000"));
  const pid_t component = await_pid("pid");
  EXPECT_TRUE(eventually([&] { return read_claim(folder())->component == component; }));
  EXPECT_TRUE(read_claim(folder())->held);
  EXPECT_EQ(read_claim(folder())->shim, shim_->pid());
}

TEST_F(ShimTest, StartsNothingInAFolderThatSomebodyElseClaimed) {
  const auto claim = take_claim(folder(), "void\n");
  ASSERT_TRUE(claim && *claim);
  start(shell("echo started"));
  ASSERT_TRUE(ended(*shim_));
  EXPECT_EQ(file("log"), "");
  EXPECT_FALSE(read_exit_record(folder()));
}

TEST_F(ShimTest, EndsTheComponentWhenWhoWatchesIsGone) {
  std::array<int, 2> watch{};
  ASSERT_EQ(::pipe2(watch.data(), O_CLOEXEC), 0);
  FileDescriptor read_end(watch[0]);
  FileDescriptor write_end(watch[1]);
  ShimOrder order = shell("echo $$ > " + folder() + "/pid; exec sleep 1000");
  order.watch_fd = 3;
  start(order, {{3, read_end.get()}});
  const pid_t component = await_pid("pid");
  write_end.reset();
  ASSERT_TRUE(ended(*shim_));
  EXPECT_TRUE(gone(component));
}

TEST_F(ShimTest, ReportsOnADescriptorAndLetsOutputThroughWithoutAFolder) {
  std::array<int, 2> report{};
  std::array<int, 2> output{};
  ASSERT_EQ(::pipe2(report.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(output.data(), O_CLOEXEC), 0);
  start({.report_fd = 3, .command = {"/bin/sh", "-c", "printf hello; exit 4"}},
        {{STDOUT_FILENO, output[1]}, {3, report[1]}});
  ASSERT_TRUE(ended(*shim_));
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(::read(report[0], text.data(), text.size())));
  EXPECT_EQ(ExitRecord::parse(text)->status.code, 4);
  std::string hello(16, '\0');
  hello.resize(static_cast<std::size_t>(::read(output[0], hello.data(), hello.size())));
  EXPECT_EQ(hello, "hello");
  for (const int fd : {report[0], report[1], output[0], output[1]}) ::close(fd);
}

}  // namespace
}  // namespace muster::cluster
