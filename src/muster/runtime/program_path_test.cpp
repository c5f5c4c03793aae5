#include "muster/runtime/program_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ProgramPath, FindsWhatAShellWouldFind) {
  EXPECT_THAT(find_program("sh").value_or(""), testing::EndsWith("/sh"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_FALSE(find_program("no-such-program"));
  EXPECT_FALSE(find_program("/usr"));
}

TEST(ProgramPath, KnowsItself) { EXPECT_THAT(own_program(), testing::EndsWith("runtime_tests")); }

}  // namespace
}  // namespace muster
