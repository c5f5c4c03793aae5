#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/engine/errors.h"
#include "muster/engine/schedule/schedule_testing.h"
#include "muster/engine/schedule/scheduler.h"

namespace muster::engine {
namespace {

/// Sources and a tree above them, on three workers, with some tasks done and some under way.
struct Midway {
  Scheduler scheduler;
  std::vector<RunTask> given;
  Instant now = 0;

  void feed(const ScheduleEvent& event) {
    ScheduleActions actions;
    scheduler.handle(++now, event, actions);
    for (ScheduleAction& action : actions)
      if (auto* const run = std::get_if<RunTask>(&action)) given.push_back(std::move(*run));
  }
  /// Ends the oldest task that was given.
  void step() {
    if (given.empty()) return;
    const RunTask run = given.front();
    given.erase(given.begin());
    feed(TaskStarted{run.worker, run.task, run.attempt});
    feed(TaskFinished{run.worker, run.task, run.attempt, {100}});
  }

  explicit Midway(int steps) {
    for (std::uint32_t w = 0; w < 3; ++w) feed(WorkerJoined{WorkerId(w), 2, 1'000'000, {}, {}});
    GraphSubmitted graph{SessionId(7), GraphId(1), {"make", "join"}, {}, {}, true};
    constexpr std::uint32_t kLeaves = 40;
    for (std::uint32_t i = 0; i < kLeaves; ++i) graph.tasks.push_back({.output_bytes = {100}});
    for (std::uint32_t i = 0; i + 1 < kLeaves; ++i)
      graph.tasks.push_back(
          {.inputs = {2 * i, 2 * i + 1}, .output_bytes = {100}, .operator_name = 1});
    graph.wanted = {2 * kLeaves - 2};
    feed(graph);
    for (int i = 0; i < steps; ++i) step();
  }
};

TEST(Snapshot, IsTheSameSchedulerWhereverItIsTaken) {
  for (const int steps : {0, 1, 17, 50, 79}) {
    Midway one(steps);
    Midway two(0);
    two.scheduler.restore(one.scheduler.snapshot());
    ASSERT_EQ(one.scheduler.digest(), two.scheduler.digest()) << steps;
    two.given = one.given;
    two.now = one.now;
    one.feed(WorkerLost{WorkerId(1), true});
    two.feed(WorkerLost{WorkerId(1), true});
    for (int i = 0; i < 200; ++i) {
      one.step();
      two.step();
      ASSERT_EQ(one.scheduler.digest(), two.scheduler.digest()) << steps << ", " << i;
    }
    EXPECT_EQ(one.scheduler.progress(SessionId(7), GraphId(1)),
              two.scheduler.progress(SessionId(7), GraphId(1)));
  }
}

TEST(Snapshot, IsNotMadeOfAnythingElse) {
  Scheduler scheduler;
  std::vector<std::byte> bytes = Midway(17).scheduler.snapshot();
  bytes.resize(bytes.size() / 2);
  EXPECT_THROW(scheduler.restore(bytes), ArrayError);
  EXPECT_THROW(scheduler.restore(ByteSpan()), ArrayError);
  bytes[0] ^= std::byte{1};
  EXPECT_THROW(scheduler.restore(bytes), ArrayError);
}

TEST(Snapshot, HasTasksThatRest) {
  Rig one;
  one.join(0);
  one.submit({source()}, {0});
  one.fail(one.runs()[0], TaskFault::retryable);
  Rig two;
  two.scheduler.restore(one.scheduler.snapshot());
  EXPECT_EQ(one.scheduler.digest(), two.scheduler.digest());
  two.now = one.now + ScheduleOptions().retry_pause;
  two.feed(TimePassed{});
  EXPECT_EQ(two.runs().size(), 1u);
}

}  // namespace
}  // namespace muster::engine
