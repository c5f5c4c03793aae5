// What every launcher has to do. Adding one is a line in the list at the end.

#include "muster/cluster/launch/launcher.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/base/clock.h"
#include "muster/base/random.h"
#include "muster/cluster/launch/docker/docker_launcher.h"
#include "muster/cluster/launch/process/claim.h"
#include "muster/cluster/launch/process/log_reader.h"
#include "muster/cluster/launch/process/marked_processes.h"
#include "muster/cluster/launch/process/process_launcher.h"
#include "muster/runtime/poll.h"
#include "tests/support/docker_server.h"
#include "tests/support/temp_dir.h"

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

struct LauncherKind {
  std::string name;
  std::function<std::unique_ptr<Launcher>()> make;
  std::string image;
};

void PrintTo(const LauncherKind& kind, std::ostream* out) { *out << kind.name; }

class LauncherConformance : public testing::TestWithParam<LauncherKind> {
 protected:
  // One engine for all cases: starting it takes a second.
  static std::unique_ptr<test::DockerServer>& engine() {
    static std::unique_ptr<test::DockerServer> server;
    return server;
  }
  static void TearDownTestSuite() { engine().reset(); }

  void SetUp() override {
    if (!GetParam().image.empty()) {
      const std::string why_not = test::DockerServer::why_not();
      if (!why_not.empty()) GTEST_SKIP() << why_not;
      if (!engine()) engine() = std::make_unique<test::DockerServer>();
    }
    launcher_ = GetParam().make();
  }
  void TearDown() override { kill_marked_processes("MUSTER_ATTEMPT=" + cluster_ + "/"); }

  LaunchOrder order(const std::string& script, int attempt = 1) const {
    const std::string id = fmt::format("{}/test/{}", cluster_, attempt);
    return {.id = id,
            .folder = (folder_.path() / std::to_string(attempt)).string(),
            .command = {"sh", "-c", script},
            .environment = {"PATH=/bin:/usr/bin", "MUSTER_ATTEMPT=" + id, "COLOUR=blue"},
            .grace = seconds(5),
            .image = GetParam().image};
  }

  ExitRecord await(const LaunchOrder& order) {
    const TimePoint deadline = SteadyClock().now() + seconds(40);
    while (SteadyClock().now() < deadline) {
      for (const LaunchEnd& end : launcher_->take_ended()) {
        if (end.folder == order.folder) return end.record;
      }
      std::array slots{pollfd{.fd = launcher_->fd(), .events = POLLIN, .revents = 0}};
      (void)poll_until(slots, SteadyClock().now() + milliseconds(100));
    }
    ADD_FAILURE() << "it does not end";
    return {};
  }
  ExitRecord run(const LaunchOrder& order) {
    const auto started = launcher_->start(order);
    EXPECT_TRUE(started) << started.error().message();
    return await(order);
  }
  // Waits for the first line of the log.
  void await_line(const LaunchOrder& order) {
    const TimePoint deadline = SteadyClock().now() + seconds(20);
    while (last_log_lines(order.folder, 1).empty() && SteadyClock().now() < deadline)
      ::poll(nullptr, 0, 5);
    EXPECT_FALSE(last_log_lines(order.folder, 1).empty());
  }
  void crash() { launcher_ = GetParam().make(); }

  test::TempDir folder_;
  const std::string cluster_ = fmt::format("{:016x}", secure_random_u64());
  std::unique_ptr<Launcher> launcher_;
};

TEST_P(LauncherConformance, RunsAComponentAndTellsItsExitCode) {
  const ExitRecord record = run(order("exit 3"));
  EXPECT_EQ(record.status, ExitStatus{.code = 3});
  EXPECT_GT(record.started_ms, 0);
  EXPECT_GE(record.ended_ms, record.started_ms);
}

TEST_P(LauncherConformance, KeepsWhatItPrints) {
  const LaunchOrder first = order("echo one; echo two >&2; echo $COLOUR");
  EXPECT_TRUE(run(first).status.success());
  EXPECT_THAT(last_log_lines(first.folder, 9), testing::UnorderedElementsAre("one", "two", "blue"));
}

TEST_P(LauncherConformance, KeepsNoMoreOfItThanAsked) {
  LaunchOrder first = order("yes 123456789 | head -n 50000");
  first.logs = {.max_size = 100'000, .keep = 1};
  EXPECT_TRUE(run(first).status.success());
  EXPECT_TRUE(std::filesystem::exists(first.folder + "/log.1"));
  EXPECT_FALSE(std::filesystem::exists(first.folder + "/log.2"));
  EXPECT_LE(std::filesystem::file_size(first.folder + "/log"), 100'000u);
}

TEST_P(LauncherConformance, EndsAComponentPolitely) {
  const LaunchOrder first =
      order("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
  ASSERT_TRUE(launcher_->start(first));
  await_line(first);
  launcher_->stop(first.folder);
  EXPECT_TRUE(await(first).status.success());
  // The shell may say in between that what it waited for was ended too.
  const auto lines = last_log_lines(first.folder, 9);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.front(), "ready");
  EXPECT_EQ(lines.back(), "bye");
}

TEST_P(LauncherConformance, KillsOneThatDoesNotListen) {
  LaunchOrder first = order("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  first.grace = milliseconds(100);
  ASSERT_TRUE(launcher_->start(first));
  await_line(first);
  launcher_->stop(first.folder);
  EXPECT_EQ(await(first).status, ExitStatus{.signal = 9});
}

TEST_P(LauncherConformance, LeavesNothingBehind) {
  EXPECT_TRUE(run(order("sleep 1000 & echo started")).status.success());
  EXPECT_TRUE(marked_processes("MUSTER_ATTEMPT=" + cluster_ + "/").empty());
}

TEST_P(LauncherConformance, SaysThatThereIsNoSuchProgram) {
  LaunchOrder first = order("");
  first.command = {"no-such-program"};
  const ExitRecord record = run(first);
  EXPECT_FALSE(record.status.success());
  EXPECT_THAT(record.failure, HasSubstr("no-such-program"));
  ASSERT_FALSE(last_log_lines(first.folder, 1).empty());
  EXPECT_THAT(last_log_lines(first.folder, 1)[0], HasSubstr("no-such-program"));
}

TEST_P(LauncherConformance, ReportsOneThatRunsOutOfMemory) {
  if (!launcher_->limits_note().empty()) GTEST_SKIP() << launcher_->limits_note();
  LaunchOrder first = order("exec tail /dev/zero");
  first.limits.memory = 32u << 20;
  const ExitRecord record = run(first);
  EXPECT_TRUE(record.out_of_memory);
  EXPECT_EQ(record.status, ExitStatus{.signal = 9});
  EXPECT_THAT(record.description(), HasSubstr("out of memory"));
}

TEST_P(LauncherConformance, RunsItAgainInAnotherFolder) {
  EXPECT_EQ(run(order("exit 1", 1)).status.code, 1);
  EXPECT_EQ(run(order("exit 2", 2)).status.code, 2);
}

TEST_P(LauncherConformance, AdoptsWhatAnEarlierLauncherStarted) {
  const LaunchOrder first = order("trap 'exit 4' TERM; echo ready; while :; do sleep 0.05; done");
  ASSERT_TRUE(launcher_->start(first));
  await_line(first);
  crash();
  const auto adopted = launcher_->adopt(first);
  ASSERT_TRUE(adopted) << adopted.error().message();
  EXPECT_EQ(*adopted, Adoption::runs);
  launcher_->stop(first.folder);
  EXPECT_EQ(await(first).status.code, 4);
}

TEST_P(LauncherConformance, KnowsHowItEndedWhileNobodyLooked) {
  const LaunchOrder first = order("exit 6");
  ASSERT_TRUE(launcher_->start(first));
  const TimePoint deadline = SteadyClock().now() + seconds(20);
  while (!read_exit_record(first.folder) && SteadyClock().now() < deadline) ::poll(nullptr, 0, 5);
  crash();
  ASSERT_TRUE(launcher_->adopt(first));
  EXPECT_EQ(await(first).status.code, 6);
}

TEST_P(LauncherConformance, NeverStartsWhatWasAdoptedBeforeItBegan) {
  const LaunchOrder first = order("echo too late");
  const auto adopted = launcher_->adopt(first);
  ASSERT_TRUE(adopted);
  EXPECT_EQ(*adopted, Adoption::not_started);
  ASSERT_TRUE(launcher_->start(first));  // a shim that was on its way
  (void)await(first);
  EXPECT_TRUE(last_log_lines(first.folder, 1).empty());
}

TEST_P(LauncherConformance, SweepsUpAfterAParentProgramThatIsKilled) {
  const LaunchOrder first = order("echo ready; while :; do sleep 0.05; done");
  ASSERT_TRUE(launcher_->start(first));
  await_line(first);
  ::kill(read_claim(first.folder)->shim, SIGKILL);
  const ExitRecord record = await(first);
  EXPECT_FALSE(record.status.success());
  EXPECT_THAT(record.failure, HasSubstr("watched over it"));
  EXPECT_TRUE(marked_processes("MUSTER_ATTEMPT=" + cluster_ + "/").empty());
}

INSTANTIATE_TEST_SUITE_P(
    Launchers, LauncherConformance,
    testing::Values(LauncherKind{"process", [] { return ProcessLauncher::create().value(); }, ""},
                    LauncherKind{"docker", [] { return DockerLauncher::create().value(); },
                                 test::DockerServer::kImage}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::cluster
