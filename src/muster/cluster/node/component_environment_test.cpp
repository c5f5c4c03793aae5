#include "muster/cluster/node/component_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cluster {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

JobState example() {
  JobState job{.id = "job1"};
  job.spec.name = "train";
  for (const auto& [name, num] : {std::pair("learner", 1u), std::pair("actor", 2u)}) {
    ComponentSpec component;
    component.name = name;
    component.num = num;
    job.spec.components.push_back(component);
  }
  job.instances = fresh_instances(job.spec);
  job.instances[2].attempt = 3;
  job.instances[2].gpus = {1};
  return job;
}

TEST(ComponentEnvironment, TellsAComponentWhoItIsAndWhereItsPeersAre) {
  const Machine machine{.name = "host", .gpus = {"4", "5"}};
  const auto variables = component_environment(example(), 2, {.root = "/r"}, machine);
  for (const char* const expected :
       {"CLUSTER_NAME=process", "NODE_NAME=host", "JOB_ID=job1", "JOB_NAME=train",
        "COMPONENT_ID=job1.actor_1", "COMPONENT_TYPE=actor", "COMPONENT_INDEX=1",
        "COMPONENT_NAME=actor_1", "MUSTER_GROUP=job1", "MUSTER_RANK=2", "MUSTER_SIZE=3",
        "MUSTER_PEERS=learner:1,actor:2", "MUSTER_DISCOVERY=file:/r/jobs/job1/peers",
        "CUDA_VISIBLE_DEVICES=5"})
    EXPECT_THAT(variables, Contains(expected));
}

TEST(ComponentEnvironment, HidesGpusFromThoseWhoAskedForNone) {
  const Machine machine{.gpus = {"0"}};
  EXPECT_THAT(component_environment(example(), 0, {}, machine), Contains("CUDA_VISIBLE_DEVICES="));
}

TEST(ComponentEnvironment, SaysNothingOfGpusWhereThereAreNone) {
  EXPECT_THAT(component_environment(example(), 0, {}, {}),
              Not(Contains(StartsWith("CUDA_VISIBLE_DEVICES"))));
}

TEST(ComponentEnvironment, NamesAttempts) {
  const JobState job = example();
  EXPECT_EQ(attempt_id("c", job, job.instances[2]), "c/job1.actor_1/3");
}

TEST(ComponentEnvironment, CarriesPathsAndNotSecrets) {
  ::setenv("MUSTER_SECRET", "x", 1);
  const auto variables = carried_environment();
  ::unsetenv("MUSTER_SECRET");
  EXPECT_THAT(variables, Contains(StartsWith("PATH=")));
  EXPECT_THAT(variables, Not(Contains(StartsWith("MUSTER_SECRET="))));
}

}  // namespace
}  // namespace muster::cluster
