#include "muster/cluster/node/agent_log.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace muster::cluster {
namespace {

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(AgentLog, KeepsTheLastTwoLengthsAndWhoeverAppendsGoesOn) {
  const test::TempDir folder;
  const ClusterLayout layout{.root = folder.path().string()};
  std::ofstream writer(layout.agent_log(), std::ios::app);
  writer << "first\n" << std::flush;
  trim_agent_log(layout, 6);
  EXPECT_FALSE(std::filesystem::exists(layout.agent_log() + ".1"));
  for (const char* const line : {"second\n", "third\n", "fourth\n"}) {
    writer << line << std::flush;
    trim_agent_log(layout, 6);
  }
  EXPECT_EQ(contents(layout.agent_log() + ".1"), "third\nfourth\n");
  EXPECT_EQ(contents(layout.agent_log()), "");
  writer << "fifth\n" << std::flush;
  EXPECT_EQ(contents(layout.agent_log()), "fifth\n");
}

TEST(AgentLog, IsNotMade) {
  const test::TempDir folder;
  const ClusterLayout layout{.root = folder.path().string()};
  trim_agent_log(layout, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace muster::cluster
