#include "muster/cluster/control/job_store.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/cluster/control/job_state_json.h"
#include "tests/support/redis_server.h"

namespace muster::cluster {
namespace {

using testing::Each;
using testing::Field;
using testing::SizeIs;

class JobStoreTest : public testing::Test {
 protected:
  static JobState job_of(std::uint32_t instances) {
    JobState job;
    job.id = "job1";
    job.spec.name = "train";
    ComponentSpec component;
    component.name = "main";
    component.num = instances;
    component.command = {"true"};
    job.spec.components.push_back(component);
    job.instances = fresh_instances(job.spec);
    return job;
  }
  static StoreChanges changes_of(const JobState& job) {
    StoreChanges changes;
    changes.jobs.emplace_back(job.name(), to_json(job));
    for (const auto& instance : job.instances) {
      changes.instances.emplace_back(JobStore::instance_field(job.id, instance.name()),
                                     to_json(instance));
    }
    return changes;
  }

  test::RedisServer server_;
  JobStore store_{server_.address(), "test"};
};

TEST_F(JobStoreTest, GivesBackWhatWasSaved) {
  JobState job = job_of(3);
  ASSERT_TRUE(store_.submit({job}));
  EXPECT_EQ(store_.job("train").value(), job);
  job.phase = JobPhase::running;
  for (auto& instance : job.instances) instance.phase = InstancePhase::running;
  ASSERT_TRUE(store_.save(changes_of(job)));
  EXPECT_EQ(store_.job("train").value(), job);
  EXPECT_EQ(store_.jobs().value(), std::vector{job});
  EXPECT_FALSE(store_.job("other").value());
}

// The phase of the job is that of its instances in all that is saved, so it is in all that is read.
TEST_F(JobStoreTest, ReadsAJobAndItsInstancesAsOfOneMoment) {
  JobState job = job_of(4);
  ASSERT_TRUE(store_.submit({job}));
  std::jthread writer([&, job](const std::stop_token& stop) mutable {
    JobStore store(server_.address(), "test");
    while (!stop.stop_requested()) {
      const bool run = job.phase == JobPhase::pending;
      job.phase = run ? JobPhase::running : JobPhase::pending;
      for (auto& instance : job.instances)
        instance.phase = run ? InstancePhase::running : InstancePhase::waiting;
      if (!store.save(changes_of(job))) return;
    }
  });
  const auto expect_whole = [](const JobState& read) {
    ASSERT_THAT(read.instances, SizeIs(4));
    ASSERT_THAT(read.instances, Each(Field(&InstanceState::phase, read.phase == JobPhase::pending
                                                                      ? InstancePhase::waiting
                                                                      : InstancePhase::running)));
  };
  for (int i = 0; i < 1000; ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_whole(store_.job("train").value().value()));
    ASSERT_NO_FATAL_FAILURE(expect_whole(store_.jobs().value().at(0)));
  }
}

}  // namespace
}  // namespace muster::cluster
