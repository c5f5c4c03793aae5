#include "muster/cluster/job/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cluster {
namespace {

using testing::ElementsAre;

ComponentSpec component(std::string name, std::vector<Dependency> depends_on = {}) {
  ComponentSpec spec;
  spec.name = std::move(name);
  spec.command = {"run"};
  spec.depends_on = std::move(depends_on);
  return spec;
}

TEST(JobSpec, StartsComponentsAfterThoseTheyDependOn) {
  JobSpec job;
  job.components = {component("c", {{"b"}}), component("a"), component("b", {{"a"}}),
                    component("d")};
  EXPECT_THAT(job.start_order(), ElementsAre("a", "b", "d", "c"));
}

TEST(JobSpec, CountsInstances) {
  JobSpec job;
  job.components = {component("a"), component("b")};
  job.components[1].num = 4;
  EXPECT_EQ(job.instances(), 5u);
}

TEST(Resources, HoldsWhatIsNoMoreInAnyRespect) {
  const Resources node{2000, 100, 1};
  EXPECT_TRUE(node.holds({2000, 100, 1}));
  EXPECT_FALSE(node.holds({2001, 0, 0}));
  EXPECT_FALSE(node.holds({0, 0, 2}));
}

TEST(Resources, DescribesItself) {
  EXPECT_EQ(describe({1500, 2ull << 30, 1}), "1.5 cpu, 2 GiB memory, 1 gpu");
  EXPECT_EQ(describe({}), "nothing");
}

}  // namespace
}  // namespace muster::cluster
