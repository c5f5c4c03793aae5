#include "muster/cluster/launch/process/rank_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cluster {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

TEST(RankEnvironment, SaysWhoTheRankIsAndWhereItsPeersAre) {
  const auto variables = rank_environment(
      {.group = "run-1", .rank = 2, .size = 4, .local_rank = 1, .discovery = "redis://h:1"});
  for (const char* const expected :
       {"MUSTER_RANK=2", "MUSTER_SIZE=4", "MUSTER_LOCAL_RANK=1", "MUSTER_GROUP=run-1",
        "MUSTER_DISCOVERY=redis://h:1", "COMPONENT_NAME=rank_2", "COMPONENT_INDEX=2"})
    EXPECT_THAT(variables, Contains(expected));
  EXPECT_THAT(variables, Contains(StartsWith("NODE_NAME=")));
}

TEST(RankEnvironment, LeavesTheDefaultDiscoveryToTheProgram) {
  EXPECT_THAT(rank_environment({.group = "g"}), Not(Contains(StartsWith("MUSTER_DISCOVERY"))));
}

TEST(RankEnvironment, ReplacesAndAddsWhenMerged) {
  EXPECT_THAT(merged_environment({"A=1", "B=2"}, {"B=3", "C=4", "C=5"}),
              ElementsAre("A=1", "B=3", "C=5"));
}

}  // namespace
}  // namespace muster::cluster
