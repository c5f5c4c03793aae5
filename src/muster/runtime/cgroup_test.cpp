#include "muster/runtime/cgroup.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/runtime/cgroup_folder.h"

namespace muster {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Cgroup, SaysSoWhenNothingIsMounted) {
  const CgroupTree tree = CgroupTree::detect("22 1 0:21 / /proc rw - proc proc rw\n", "0::/\n");
  EXPECT_FALSE(tree.limits_cpu());
  EXPECT_FALSE(tree.limits_memory());
  EXPECT_EQ(tree.why_not(), "no control groups are mounted");
}

TEST(Cgroup, SaysSoWhenItCannotBeWritten) {
  const CgroupTree tree = CgroupTree::detect(
      "30 1 0:26 / /nowhere/cgroup rw - cgroup2 cgroup2 rw\n", "0::/user.slice\n");
  EXPECT_FALSE(tree.limits_memory());
  EXPECT_THAT(tree.why_not(), HasSubstr("cannot be written"));
}

TEST(Cgroup, MakesNoGroupWithoutLimits) {
  const auto folders = CgroupTree::detect().create("muster-test-none", {});
  ASSERT_TRUE(folders);
  EXPECT_THAT(*folders, IsEmpty());
}

TEST(Cgroup, LooksBrokenLinesOver) {
  const CgroupTree tree = CgroupTree::detect("x\n- cgroup2\n1 2 3 4 5 - cgroup\n", ":\n\n4\n");
  EXPECT_FALSE(tree.limits_memory());
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

TEST(Cgroup, WritesLimitsWhereThisMachineLetsIt) {
  const CgroupTree tree = CgroupTree::detect();
  if (!tree.limits_memory() || !tree.limits_cpu()) GTEST_SKIP() << tree.why_not();
  const auto folders = tree.create(fmt::format("muster-test-{}", ::getpid()),
                                   {.cpus = 0.5, .memory_bytes = 64u << 20});
  ASSERT_TRUE(folders) << folders.error().message();
  ASSERT_THAT(*folders, testing::Not(IsEmpty()));
  std::string limits;
  for (const auto& folder : *folders) {
    for (const char* const file :
         {"/memory.max", "/memory.limit_in_bytes", "/cpu.max", "/cpu.cfs_quota_us"})
      limits += first_line(folder + file) + ";";
    EXPECT_FALSE(cgroup_ran_out_of_memory(folder));
    EXPECT_THAT(cgroup_processes(folder), IsEmpty());
    EXPECT_TRUE(remove_cgroup(folder));
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
  EXPECT_THAT(limits, HasSubstr("67108864"));
  EXPECT_THAT(limits, HasSubstr("50000"));
}

}  // namespace
}  // namespace muster
