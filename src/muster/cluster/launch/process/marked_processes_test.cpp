#include "muster/cluster/launch/process/marked_processes.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/runtime/child_process.h"

namespace muster::cluster {
namespace {

TEST(MarkedProcesses, AreFoundByTheirEnvironmentAndKilled) {
  const std::string id = fmt::format("{:016x}", secure_random_u64());
  auto marked = ChildProcess::spawn({.program = "/bin/sleep",
                                     .arguments = {"100"},
                                     .environment = {{"A=1", "MUSTER_ATTEMPT=" + id + "/1"}}});
  auto other = ChildProcess::spawn({.program = "/bin/sleep",
                                    .arguments = {"100"},
                                    .environment = {{"XMUSTER_ATTEMPT=" + id + "/1"}}});
  ASSERT_TRUE(marked && other);
  const std::string mark = "MUSTER_ATTEMPT=" + id + "/";
  EXPECT_THAT(marked_processes(mark), testing::ElementsAre(marked->pid()));
  EXPECT_TRUE(kill_marked_processes(mark));
  EXPECT_EQ(marked->try_wait(), ExitStatus{.signal = SIGKILL});
  EXPECT_FALSE(other->try_wait());
  other->signal(SIGKILL);
  pollfd slot{.fd = other->fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&slot, 1, 10'000), 1);
  EXPECT_TRUE(other->try_wait());
}

}  // namespace
}  // namespace muster::cluster
