#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/soak.h"
#include "tests/support/temp_dir.h"

namespace muster::test {
namespace {

class WalkTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("MUSTER_SOAK_PROGRESS", folder_.path().c_str(), 1);
    ::setenv("MUSTER_SOAK_SECONDS", "0", 1);
  }
  void TearDown() override {
    ::unsetenv("MUSTER_SOAK_PROGRESS");
    ::unsetenv("MUSTER_SOAK_SECONDS");
  }

  static std::vector<std::size_t> run(std::size_t cases) {
    Walk walk("walk", cases);
    std::vector<std::size_t> done;
    while (const auto number = walk.next()) done.push_back(*number);
    return done;
  }

  TempDir folder_;
};

using Cases = std::vector<std::size_t>;

TEST_F(WalkTest, GoesThroughAllCasesBeforeItBeginsAnew) {
  EXPECT_EQ(run(3), Cases{0}) << "there is time for one";
  EXPECT_EQ(run(3), Cases{1});
  ::setenv("MUSTER_SOAK_SECONDS", "60", 1);
  EXPECT_EQ(run(3), Cases{2}) << "there is time for all";
  EXPECT_EQ(run(3), (Cases{0, 1, 2}));
}

TEST_F(WalkTest, RepeatsACaseThatFailed) {
  EXPECT_EQ(run(3), Cases{0});
  EXPECT_EQ(Walk("walk", 3).next(), 1u);
  EXPECT_EQ(run(3), Cases{1});
}

TEST_F(WalkTest, SaysHowFarItCame) {
  EXPECT_EQ(run(3), Cases{0});
  std::string line;
  std::getline(std::ifstream(folder_.path() / "walk"), line);
  EXPECT_EQ(line, "1 of 3 cases");
}

TEST_F(WalkTest, OfAnotherListBeginsAnew) {
  EXPECT_EQ(run(3), Cases{0});
  EXPECT_EQ(run(4), Cases{0});
}

}  // namespace
}  // namespace muster::test
