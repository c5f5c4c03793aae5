#include "muster/cluster/control/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ComponentSpec component(std::string name, std::uint32_t num = 1) {
  ComponentSpec spec;
  spec.name = std::move(name);
  spec.num = num;
  spec.command = {"true"};
  return spec;
}

JobState job(std::string name, std::vector<ComponentSpec> components, std::int64_t submitted = 1) {
  JobState state{.id = "id-" + name, .submitted_ms = submitted};
  state.spec.name = std::move(name);
  state.spec.components = std::move(components);
  return state;
}

const ExitRecord kGood{};
const ExitRecord kBad{.status = {.code = 3}};

class ControlTest : public testing::Test {
 protected:
  ControlActions take() { return control_.take_actions(now_); }
  // The names of what is started now.
  std::vector<std::string> started() {
    std::vector<std::string> names;
    last_ = take();
    for (const AttemptRef& start : last_.starts) {
      names.push_back(start.job + "/" + control_.find(start.job)->instances[start.instance].name() +
                      "/" + std::to_string(start.attempt));
    }
    return names;
  }
  void end(const std::string& job, std::size_t instance, const ExitRecord& record,
           std::uint32_t attempt = 1) {
    control_.ended({job, instance, attempt}, record, {"last line"}, now_);
  }
  JobPhase phase(const std::string& job) { return control_.find(job)->phase; }

  std::int64_t now_ = 1'000;
  Control control_{
      {.node = {.cpu_milli = 4000, .memory = 1u << 30, .gpu = 2}, .parallel_level = 2}};
  ControlActions last_;
};

TEST_F(ControlTest, StartsAllInstancesOfAJobAndEndsWithThem) {
  control_.load(job("train", {component("learner"), component("actor", 2)}), now_);
  EXPECT_THAT(started(), ElementsAre("train/learner_0/1", "train/actor_0/1", "train/actor_1/1"));
  EXPECT_THAT(last_.changed_jobs, ElementsAre("train"));
  EXPECT_THAT(last_.changed_instances, SizeIs(3));
  end("train", 0, kGood);
  end("train", 1, kGood);
  EXPECT_EQ(phase("train"), JobPhase::running);
  end("train", 2, kGood);
  EXPECT_EQ(phase("train"), JobPhase::succeeded);
  EXPECT_EQ(control_.running_jobs(), 0u);
}

TEST_F(ControlTest, RunsNoMoreJobsAtOnceThanItMay) {
  for (const char* const name : {"a", "b", "c"}) control_.load(job(name, {component("x")}), now_);
  EXPECT_THAT(started(), ElementsAre("a/x_0/1", "b/x_0/1"));
  end("a", 0, kGood);
  EXPECT_THAT(started(), ElementsAre("c/x_0/1"));
}

TEST_F(ControlTest, LooksPastAnyNumberOfJobsThatCanNeverStart) {
  auto huge = component("huge");
  huge.resources.gpu = 3;
  for (int i = 0; i < 300; ++i) control_.load(job("huge" + std::to_string(i), {huge}, i), now_);
  control_.load(job("small", {component("x")}, 300), now_);
  EXPECT_THAT(started(), ElementsAre("small/x_0/1"));
  EXPECT_THAT(control_.find("huge299")->reason, HasSubstr("3 gpu"));
  EXPECT_EQ(control_.pending_jobs(), 300u);
  control_.stop("huge7", now_);
  EXPECT_EQ(phase("huge7"), JobPhase::stopped);
  EXPECT_EQ(control_.pending_jobs(), 299u);
}

TEST_F(ControlTest, StoresThatTheInstancesOfAStoppedJobNeverRan) {
  auto huge = component("huge");
  huge.resources.gpu = 3;
  control_.load(job("j", {huge}), now_);
  (void)take();
  control_.stop("j", now_);
  EXPECT_EQ(control_.find("j")->instances[0].phase, InstancePhase::stopped);
  EXPECT_THAT(take().changed_instances, SizeIs(1));
}

TEST_F(ControlTest, SaysWhyAJobWaits) {
  auto big = component("big");
  big.resources.cpu_milli = 3000;
  control_.load(job("first", {big}, 1), now_);
  control_.load(job("second", {big}, 2), now_);
  EXPECT_THAT(started(), ElementsAre("first/big_0/1"));
  EXPECT_THAT(control_.find("second")->reason, HasSubstr("3 cpu"));
  EXPECT_TRUE(last_.changed_jobs.contains("second"));
  end("first", 0, kGood);
  EXPECT_THAT(started(), ElementsAre("second/big_0/1"));
  EXPECT_THAT(control_.find("second")->reason, IsEmpty());
}

TEST_F(ControlTest, FailsTheJobAndStopsTheOthersWhenOneFailsForGood) {
  control_.load(job("train", {component("learner"), component("actor", 2)}), now_);
  (void)take();
  end("train", 1, kBad);
  const ControlActions actions = take();
  EXPECT_THAT(actions.stops, ElementsAre(AttemptRef{"train", 0, 1}, AttemptRef{"train", 2, 1}));
  EXPECT_EQ(phase("train"), JobPhase::running);
  end("train", 0, {.status = {.signal = 15}});
  end("train", 2, {.status = {.signal = 15}});
  EXPECT_EQ(phase("train"), JobPhase::failed);
  const JobFailure& failure = *control_.find("train")->failure;
  EXPECT_EQ(failure.instance, "actor_0");
  EXPECT_EQ(failure.what, "exit code 3");
  EXPECT_EQ(failure.exit_code, 3);
  EXPECT_THAT(failure.log, ElementsAre("last line"));
}

TEST_F(ControlTest, RestartsAfterTheBackoff) {
  auto flaky = component("flaky");
  flaky.restart = {.policy = RestartPolicy::on_failure, .max = 1, .backoff = milliseconds(100)};
  control_.load(job("j", {flaky}), now_);
  (void)take();
  end("j", 0, kBad);
  EXPECT_EQ(control_.next_due_ms(), 1'100);
  EXPECT_THAT(started(), IsEmpty());
  now_ = 1'100;
  EXPECT_THAT(started(), ElementsAre("j/flaky_0/2"));
  end("j", 0, kBad, 1);  // of the attempt before: old news
  EXPECT_EQ(phase("j"), JobPhase::running);
  end("j", 0, kBad, 2);
  EXPECT_EQ(phase("j"), JobPhase::failed);
}

TEST_F(ControlTest, LetsTheOthersGoOnAfterExitCode64) {
  auto eager = component("eager");
  eager.restart.policy = RestartPolicy::always;
  control_.load(job("j", {eager, component("other")}), now_);
  (void)take();
  end("j", 0, {.status = {.code = 64}});
  EXPECT_THAT(take().stops, IsEmpty());
  end("j", 1, kGood);
  EXPECT_EQ(phase("j"), JobPhase::failed);
  EXPECT_EQ(control_.find("j")->failure->exit_code, 64);
}

TEST_F(ControlTest, EndsTheWholeJobAfterExitCode65) {
  auto eager = component("eager");
  eager.restart.policy = RestartPolicy::always;
  control_.load(job("j", {eager, component("other")}), now_);
  (void)take();
  end("j", 0, {.status = {.code = 65}});
  EXPECT_THAT(take().stops, ElementsAre(AttemptRef{"j", 1, 1}));
}

TEST_F(ControlTest, StopsAJob) {
  control_.load(job("j", {component("x", 2)}), now_);
  (void)take();
  EXPECT_TRUE(control_.stop("j", now_));
  EXPECT_TRUE(control_.stop("j", now_));
  EXPECT_THAT(take().stops, SizeIs(2));
  end("j", 0, {.status = {.signal = 15}});
  end("j", 1, kGood);
  EXPECT_EQ(phase("j"), JobPhase::stopped);
  EXPECT_FALSE(control_.stop("none", now_));
}

TEST_F(ControlTest, StopsAJobThatWaits) {
  for (const char* const name : {"a", "b", "c"}) control_.load(job(name, {component("x")}), now_);
  (void)take();
  control_.stop("c", now_);
  EXPECT_EQ(phase("c"), JobPhase::stopped);
  EXPECT_EQ(control_.pending_jobs(), 0u);
}

TEST_F(ControlTest, ForgetsAJobWhenItHasEnded) {
  control_.load(job("j", {component("x")}), now_);
  (void)take();
  control_.remove("j", now_);
  EXPECT_THAT(take().removed, IsEmpty());
  end("j", 0, {.status = {.signal = 15}});
  const auto removed = take().removed;
  ASSERT_THAT(removed, SizeIs(1));
  EXPECT_EQ(removed[0].id, "id-j");
  EXPECT_THAT(removed[0].instances, ElementsAre("x_0"));
  EXPECT_EQ(control_.find("j"), nullptr);
}

TEST_F(ControlTest, StartsAComponentAfterThoseItDependsOn) {
  auto store = component("store");
  auto setup = component("setup");
  setup.depends_on = {{"store", DependsUntil::started}};
  auto work = component("work");
  work.depends_on = {{"setup", DependsUntil::succeeded}};
  control_.load(job("j", {work, setup, store}), now_);
  EXPECT_THAT(started(), ElementsAre("j/store_0/1", "j/setup_0/1"));
  end("j", 1, kGood);
  EXPECT_THAT(started(), ElementsAre("j/work_0/1"));
}

TEST_F(ControlTest, FailsWhenADependencyCannotSucceedAnyMore) {
  auto work = component("work");
  work.depends_on = {{"setup", DependsUntil::succeeded}};
  control_.load(job("j", {component("setup"), work}), now_);
  (void)take();
  end("j", 0, {.status = {.code = 64}});
  EXPECT_EQ(phase("j"), JobPhase::failed);
}

TEST_F(ControlTest, EndsAnInstanceThatRunsTooLong) {
  auto slow = component("slow");
  slow.timeout = milliseconds(50);
  control_.load(job("j", {slow}), now_);
  (void)take();
  now_ += 50;
  EXPECT_THAT(take().stops, ElementsAre(AttemptRef{"j", 0, 1}));
  end("j", 0, kGood);
  EXPECT_EQ(phase("j"), JobPhase::failed);
  EXPECT_EQ(control_.find("j")->failure->what, "timeout after 50ms");
}

TEST_F(ControlTest, EndsWithTheStatusOfATimeoutHoweverTheInstanceWent) {
  auto slow = component("slow");
  slow.timeout = milliseconds(50);
  for (const ExitRecord& record : {kGood, kBad, ExitRecord{.status = {.signal = 15}}}) {
    control_.load(job("j", {slow}), now_);
    (void)take();
    now_ += 50;
    (void)take();
    end("j", 0, record);
    EXPECT_EQ(control_.find("j")->failure->exit_code, 124);
    control_.remove("j", now_);
    (void)take();
  }
}

TEST_F(ControlTest, EndsAJobThatRunsTooLong) {
  JobState slow = job("j", {component("x")});
  slow.spec.timeout = milliseconds(50);
  control_.load(slow, now_);
  (void)take();
  now_ += 50;
  EXPECT_THAT(take().stops, SizeIs(1));
  end("j", 0, {.status = {.signal = 15}});
  EXPECT_EQ(phase("j"), JobPhase::failed);
  EXPECT_EQ(control_.find("j")->failure->exit_code, 124);
}

TEST_F(ControlTest, GivesEachInstanceGpusOfItsOwn) {
  auto trainer = component("trainer", 2);
  trainer.resources.gpu = 1;
  control_.load(job("a", {trainer}), now_);
  control_.load(job("b", {trainer}), now_);
  EXPECT_THAT(started(), SizeIs(2));
  EXPECT_THAT(control_.find("a")->instances[0].gpus, ElementsAre(0));
  EXPECT_THAT(control_.find("a")->instances[1].gpus, ElementsAre(1));
  end("a", 0, kGood);
  end("a", 1, kGood);
  EXPECT_THAT(started(), SizeIs(2));
  EXPECT_THAT(control_.find("b")->instances[1].gpus, ElementsAre(1));
}

TEST_F(ControlTest, CountsAnAttemptThatWasNeverStartedForNothing) {
  control_.load(job("j", {component("x")}), now_);
  (void)take();
  control_.not_started({"j", 0, 1}, now_);
  EXPECT_THAT(started(), ElementsAre("j/x_0/2"));
  EXPECT_EQ(control_.find("j")->instances[0].restarts, 0u);
}

TEST_F(ControlTest, TakesUpWhatAnEarlierAgentLeft) {
  auto flaky = component("flaky", 3);
  flaky.restart = {.policy = RestartPolicy::on_failure, .max = 9, .backoff = milliseconds(100)};
  control_.load(job("j", {flaky}), now_);
  (void)take();
  end("j", 0, kGood);
  end("j", 1, kBad);
  const JobState left = *control_.find("j");

  Control next({.node = {.cpu_milli = 4000}, .parallel_level = 2});
  next.load(left, now_);
  next.load(left, now_);  // told twice
  EXPECT_THAT(next.take_actions(now_).starts, IsEmpty());
  EXPECT_EQ(next.running_jobs(), 1u);
  EXPECT_THAT(next.take_actions(now_ + 100).starts, ElementsAre(AttemptRef{"j", 1, 2}));
  next.ended({"j", 1, 2}, kGood, {}, now_);
  next.ended({"j", 2, 1}, kGood, {}, now_);
  EXPECT_EQ(next.find("j")->phase, JobPhase::succeeded);
}

TEST_F(ControlTest, TakesUpAStopThatAnEarlierAgentBegan) {
  control_.load(job("j", {component("x")}), now_);
  (void)take();
  control_.stop("j", now_);
  Control next({.node = {}, .parallel_level = 2});
  next.load(*control_.find("j"), now_);
  EXPECT_THAT(next.take_actions(now_).stops, ElementsAre(AttemptRef{"j", 0, 1}));
}

}  // namespace
}  // namespace muster::cluster
