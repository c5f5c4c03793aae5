#include "muster/cli/process/progress_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using cluster::InstancePhase;
using testing::ElementsAre;
using testing::SizeIs;

// A running job of components a, b, c, … with one instance in each of these phases.
cluster::JobState job_with(const std::vector<InstancePhase>& phases) {
  cluster::JobState job;
  job.spec.name = "train";
  job.phase = cluster::JobPhase::running;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    cluster::ComponentSpec component;
    component.name = std::string(1, static_cast<char>('a' + i));
    job.instances.push_back({.component = component.name, .phase = phases[i]});
    job.spec.components.push_back(std::move(component));
  }
  return job;
}

TEST(ProgressLines, CountTheInstancesOfEachComponent) {
  cluster::JobState job = job_with({InstancePhase::succeeded, InstancePhase::running});
  job.instances.push_back({.component = "b", .index = 1, .phase = InstancePhase::running});
  job.instances.push_back(
      {.component = "b", .index = 2, .phase = InstancePhase::backing_off, .restarts = 2});
  EXPECT_THAT(progress_lines(job, false), ElementsAre("train: running", "  a  1 succeeded",
                                                      "  b  2 running, 1 restarting (2 restarts)"));
}

TEST(ProgressLines, AreAllThereWhereTheyJustFit) {
  EXPECT_THAT(progress_lines(job_with({InstancePhase::running, InstancePhase::running}), false, 3),
              ElementsAre("train: running", "  a  1 running", "  b  1 running"));
}

TEST(ProgressLines, LeaveOutWhatHasSucceededFirstAndThenWhatWaits) {
  const cluster::JobState job =
      job_with({InstancePhase::succeeded, InstancePhase::waiting, InstancePhase::running,
                InstancePhase::waiting, InstancePhase::failed, InstancePhase::running});
  EXPECT_THAT(progress_lines(job, false, 6),
              ElementsAre("train: running", "  b  1 waiting", "  c  1 running", "  e  1 failed",
                          "  f  1 running", "  … and 2 more components: 1 waiting, 1 succeeded"));
  EXPECT_THAT(progress_lines(job, false, 4),
              ElementsAre("train: running", "  c  1 running", "  e  1 failed",
                          "  … and 4 more components: 2 waiting, 1 running, 1 succeeded"));
}

TEST(ProgressLines, AreNeverMoreThanThereIsRoomFor) {
  const cluster::JobState job = job_with(std::vector(20, InstancePhase::running));
  for (std::size_t most = 1; most <= 21; ++most)
    EXPECT_THAT(progress_lines(job, false, most), SizeIs(most));
  EXPECT_THAT(progress_lines(job, false, 0), SizeIs(21));
}

}  // namespace
}  // namespace muster::cli
