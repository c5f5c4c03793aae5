#include "muster/cluster/job/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cluster/errc.h"
#include "muster/cluster/job/read.h"

namespace muster::cluster {
namespace {

using testing::HasSubstr;

constexpr std::string_view kFull = R"(
mode: grass/on-premises
name: train
priority: 7
timeout: 1.234s
labels: {team: rl}
allocation: {mode: single-metric-compacted, metric: gpu}
components:
  z_learner:
    shell: true
    command: "echo \"ä\t\" '$x'"
    image: img:1
    mount: [{target: /a}, {source: /b, target: /c, read_only: true}]
    resources: {cpu: 0.333, memory: 3.5g, gpu: 2}
    env: {A: "1", B: ""}
    working_dir: /tmp
    restart: {policy: always, max: 0, backoff: 1ms}
    timeout: 1h
    logs: {max_size: 4k, keep: 1}
  actor: {num: 3, command: [a, "", " b"], depends_on: {z_learner: succeeded}}
)";

TEST(JobJson, GivesBackWhatWasStored) {
  const SpecReading reading = read_spec(kFull, "f");
  ASSERT_TRUE(reading.ok()) << reading.problems.front().str();
  const auto& job = std::get<JobSpec>(reading.spec);
  const auto again = job_from_json(to_json(job));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, job);
}

TEST(JobJson, GivesBackSchedules) {
  const SpecReading reading =
      read_spec("name: s\njob_names: [a, b]\ncomponents: {x: {command: run}}", "f");
  ASSERT_TRUE(reading.ok());
  const auto& schedule = std::get<ScheduleSpec>(reading.spec);
  const auto again = schedule_from_json(to_json(schedule));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, schedule);
  EXPECT_FALSE(job_from_json(to_json(schedule)));
}

TEST(JobJson, RefusesWhatIsNotAJob) {
  for (const char* text : {"", "{", "[]", "{}", R"({"name": "x", "components": {"a": {}}})"}) {
    const auto read = job_from_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_TRUE(read.error().is(Errc::invalid_spec));
  }
  EXPECT_THAT(job_from_json(R"({"name": "x", "components": {"a": {"command": "r", "num": "5"}}})")
                  .error()
                  .message(),
              HasSubstr("components.a.num: '5' is not a whole number"));
}

}  // namespace
}  // namespace muster::cluster
