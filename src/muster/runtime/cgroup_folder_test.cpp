#include "muster/runtime/cgroup_folder.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace muster {
namespace {

TEST(CgroupFolder, ReadsOutOfMemoryKills) {
  const test::TempDir folder;
  EXPECT_FALSE(cgroup_ran_out_of_memory(folder.path()));
  std::ofstream(folder.path() / "memory.oom_control") << "oom_kill_disable 0\noom_kill 0\n";
  EXPECT_FALSE(cgroup_ran_out_of_memory(folder.path()));
  std::ofstream(folder.path() / "memory.events") << "low 0\nno_oom_kill 4\noom 3\noom_kill 2\n";
  EXPECT_TRUE(cgroup_ran_out_of_memory(folder.path()));
}

TEST(CgroupFolder, ListsItsProcesses) {
  const test::TempDir folder;
  EXPECT_TRUE(cgroup_processes(folder.path()).empty());
  std::ofstream(folder.path() / "cgroup.procs") << "12\n7\n";
  EXPECT_EQ(cgroup_processes(folder.path()), (std::vector<pid_t>{12, 7}));
}

}  // namespace
}  // namespace muster
