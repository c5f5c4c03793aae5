#include "muster/base/fork_guard.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ForkGuard, TellsAChildFromItsParent) {
  const auto before = fork_generation();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(fork_generation() == before + 1 ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(fork_generation(), before);
}

}  // namespace
}  // namespace muster
