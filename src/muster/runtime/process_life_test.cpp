#include "muster/runtime/process_life.h"

#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ProcessLife, SeesItself) {
  const auto start = process_start(::getpid());
  EXPECT_GT(start, 0u);
  EXPECT_TRUE(process_runs(::getpid(), start));
}

TEST(ProcessLife, DoesNotTakeAProcessForAnotherWithTheSamePid) {
  EXPECT_FALSE(process_runs(::getpid(), process_start(::getpid()) + 1));
  EXPECT_FALSE(process_runs(0, 1));
  EXPECT_FALSE(process_runs(-1, 1));
}

TEST(ProcessLife, CountsAZombieAsDead) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto start = process_start(child);
  EXPECT_TRUE(process_runs(child, start));
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(process_runs(child, start));
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_runs(child, start));
}

TEST(ProcessLife, SeesThatAProcessIsStopped) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_FALSE(process_is_stopped(child));
  ::kill(child, SIGSTOP);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT), 0);
  EXPECT_TRUE(process_is_stopped(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_is_stopped(child));
}

TEST(ProcessLife, MayBeAskedForWhileTheProcessEnds) {
  for (int i = 0; i < 500; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(0);
    const auto start = process_start(child);
    const std::jthread reaper([child] { ::waitpid(child, nullptr, 0); });
    while (start != 0 && process_runs(child, start)) {
    }
  }
}

}  // namespace
}  // namespace muster
