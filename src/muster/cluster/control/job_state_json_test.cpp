#include "muster/cluster/control/job_state_json.h"

#include <gtest/gtest.h>

#include "muster/cluster/errc.h"

namespace muster::cluster {
namespace {

JobState example() {
  JobState job{
      .id = "job1",
      .schedule = "nightly",
      .working_dir = "/tmp",
      .environment = {"A=1"},
      .submitted_ms = 1,
      .started_ms = 2,
      .ended_ms = 3,
      .phase = JobPhase::failed,
      .reason = "why",
      .ending = JobPhase::stopped,
      .remove = true,
      .failure = JobFailure{
          .instance = "actor_0", .what = "exit code 3", .exit_code = 3, .log = {"one", "two"}}};
  job.spec.name = "train";
  job.spec.components.emplace_back();
  job.spec.components[0].name = "actor";
  job.spec.components[0].command = {"true"};
  return job;
}

TEST(JobStateJson, ReadsAJobBack) {
  const auto job = job_state_from_json(to_json(example()));
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(*job, example());
}

TEST(JobStateJson, ReadsAnInstanceBack) {
  const InstanceState instance{.component = "actor",
                               .index = 3,
                               .phase = InstancePhase::backing_off,
                               .attempt = 2,
                               .restarts = 1,
                               .stopping = true,
                               .timed_out = true,
                               .gpus = {0, 4},
                               .started_ms = 1,
                               .ended_ms = 2,
                               .restart_at_ms = 3,
                               .last = ExitRecord{.status = {.signal = 9}, .out_of_memory = true}};
  const auto read = instance_state_from_json(to_json(instance));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, instance);
}

TEST(JobStateJson, StoresLogLinesThatAreNoText) {
  JobState job = example();
  job.failure->log = {"\xff\xfe"};
  EXPECT_TRUE(job_state_from_json(to_json(job)));
}

TEST(JobStateJson, SaysThatItCannotReadRubbish) {
  for (const char* const text : {"", "{", "[]", "{}", R"({"id": 3})"}) {
    ASSERT_FALSE(job_state_from_json(text)) << text;
    EXPECT_TRUE(job_state_from_json(text).error().is(Errc::corrupt_state));
    EXPECT_FALSE(instance_state_from_json(text));
  }
}

}  // namespace
}  // namespace muster::cluster
