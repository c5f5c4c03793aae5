#include <limits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/engine/schedule/schedule_testing.h"

namespace muster::engine {
namespace {

using ::testing::SizeIs;

std::vector<TaskSpec> sources(std::size_t count, std::uint64_t bytes = 100) {
  return std::vector<TaskSpec>(count, source(bytes));
}

std::vector<std::uint32_t> first(std::uint32_t count) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(i);
  return out;
}

TEST(Placement, GoesWhereMostBytesAre) {
  Rig rig;
  rig.join(0);
  rig.join(1);
  rig.submit({source(10), source(1'000'000), reader({0, 1})}, {2});
  const auto runs = rig.runs();
  ASSERT_THAT(runs, SizeIs(2));
  ASSERT_NE(runs[0].worker, runs[1].worker);
  rig.finish(runs[0]);
  rig.finish(runs[1]);
  ASSERT_THAT(rig.runs(), SizeIs(1));
  const WorkerId large = runs[0].task.index == 1 ? runs[0].worker : runs[1].worker;
  EXPECT_EQ(rig.runs()[0].worker, large);
}

TEST(Placement, PrefersAnIdleWorkerToALongQueueWhenLittleMoves) {
  ScheduleOptions options;
  options.first_mean = 1'000'000'000;
  Rig rig(options);
  rig.join(0);
  std::vector<TaskSpec> tasks{source(8)};
  for (int i = 0; i < 10; ++i) tasks.push_back(reader({0}));
  rig.submit(tasks, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  rig.finish(rig.runs()[0]);
  rig.join(1);
  EXPECT_FALSE(rig.runs().empty());
  EXPECT_EQ(rig.runs()[0].worker, WorkerId(1));
  EXPECT_EQ(rig.runs()[0].inputs[0].from, WorkerId(0));
}

TEST(Placement, FinishesOneResultBeforeItBeginsTheNext) {
  ScheduleOptions options;
  options.queue_depth = 0;
  Rig rig(options);
  rig.join(0);
  // Two trees whose leaves come first in the submission.
  rig.submit({source(), source(), source(), source(), reader({0, 1}), reader({2, 3})}, {4, 5});
  std::vector<std::uint32_t> order;
  while (!rig.runs().empty()) {
    order.push_back(rig.runs()[0].task.index);
    rig.finish(rig.runs()[0]);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 4, 2, 3, 5}));
}

TEST(Placement, GivesNeighboursToOneWorker) {
  Rig rig;
  rig.join(0, 2);
  rig.join(1, 2);
  rig.submit(sources(8), first(8));
  std::map<std::uint32_t, std::vector<std::uint32_t>> given;
  for (const RunTask& run : rig.runs()) given[run.worker.value()].push_back(run.task.index);
  EXPECT_EQ(given[0], (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(given[1], (std::vector<std::uint32_t>{4, 5, 6, 7}));
}

TEST(Placement, GivesNeighboursToOneWorkerThoughTheyReadTheSameFewBytes) {
  Rig rig;
  rig.join(0, 1, 10'000'000);
  rig.join(1, 1, 10'000'000);
  std::vector<TaskSpec> tasks{source(8)};
  for (int i = 0; i < 7; ++i) tasks.push_back(reader({0}, 100'000));
  rig.submit(tasks, {1, 2, 3, 4, 5, 6, 7});
  rig.finish(rig.runs()[0]);
  std::map<std::uint32_t, std::vector<std::uint32_t>> given;
  for (const RunTask& run : rig.runs()) given[run.worker.value()].push_back(run.task.index);
  EXPECT_EQ(given[0], (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(given[1], (std::vector<std::uint32_t>{4, 5, 6}));
}

TEST(Placement, GivesALargeSourceOnlyToAThreadThatIsFree) {
  ScheduleOptions options;
  options.queue_depth = 2;
  Rig rig(options);
  rig.join(0, 1, 1'000'000);
  // The reader of the first two goes before the third.
  rig.submit({source(100'000), source(100'000), source(100'000), reader({0, 1})}, {3, 2});
  for (const std::uint32_t wanted : {0u, 1u, 3u, 2u}) {
    ASSERT_THAT(rig.runs(), SizeIs(1));
    EXPECT_EQ(rig.runs()[0].task.index, wanted);
    rig.finish(rig.runs()[0]);
  }
}

TEST(Placement, GivesAWorkerAFewTasksMoreThanItHasThreads) {
  ScheduleOptions options;
  options.queue_depth = 2;
  Rig rig(options);
  rig.join(0, 3);
  rig.submit(sources(20), first(20));
  EXPECT_THAT(rig.runs(), SizeIs(5));
}

TEST(Placement, GivesAWorkerManyTasksWhileTheyAreShort) {
  Rig rig;
  rig.join(0);
  rig.submit(sources(1000), first(1000));
  std::size_t most = 0;
  std::vector<RunTask> given = rig.runs();
  for (std::size_t i = 0; i < 200; ++i) {
    rig.now += 1'000;
    rig.start(given[i]);
    rig.now += 1'000;
    rig.finish(given[i]);
    for (const RunTask& run : rig.runs()) given.push_back(run);
    most = std::max(most, given.size() - i - 1);
  }
  EXPECT_EQ(most, 1u + 2 * 32);
}

TEST(Placement, LearnsFromWorkersHowShortTasksAreWhoseStartWasNotTold) {
  ScheduleOptions options;
  options.first_mean = 100'000'000;  // long ones came before
  Rig rig(options);
  rig.join(0);
  rig.submit(sources(1000), first(1000));
  std::size_t most = 0;
  std::vector<RunTask> given = rig.runs();
  for (std::size_t i = 0; i < 100; ++i) {
    rig.now += 1'000'000;  // until the report comes
    rig.feed(TaskFinished{given[i].worker, given[i].task, given[i].attempt, {}, 1'000});
    for (const RunTask& run : rig.runs()) given.push_back(run);
    most = std::max(most, given.size() - i - 1);
  }
  EXPECT_EQ(most, 1u + 2 * 32);
}

TEST(Placement, DoesNotTrustATimeThatCannotBe) {
  Rig rig;
  rig.join(0);
  rig.submit(sources(100), first(100));
  std::vector<RunTask> given = rig.runs();
  for (std::size_t i = 0; i < 50; ++i) {
    const std::int64_t took =
        i % 2 == 0 ? std::numeric_limits<std::int64_t>::max() : std::int64_t{-1};
    rig.feed(TaskFinished{given[i].worker, given[i].task, given[i].attempt, {}, took});
    for (const RunTask& run : rig.runs()) given.push_back(run);
  }
  EXPECT_LE(given.size(), 53u);
}

TEST(Placement, StealsForAWorkerThatRunsDry) {
  Rig rig;
  rig.join(0);
  rig.submit(sources(20), first(20));
  rig.join(1);
  ASSERT_THAT(rig.runs(), SizeIs(1));
  EXPECT_EQ(rig.runs()[0].worker, WorkerId(1));
  EXPECT_GT(rig.runs()[0].task.index, 9u) << "from the end of the queue";
}

TEST(Placement, TakesBackATaskThatWasGivenButNotBegun) {
  ScheduleOptions options;
  options.queue_depth = 1;
  Rig rig(options);
  rig.join(0);
  rig.submit(sources(2), first(2));
  const auto given = rig.runs();
  ASSERT_THAT(given, SizeIs(2));
  rig.start(given[0]);
  rig.join(1);
  ASSERT_THAT(rig.all<CancelTask>(), SizeIs(1));
  EXPECT_EQ(rig.all<CancelTask>()[0].attempt, given[1].attempt);
  ASSERT_THAT(rig.runs(), SizeIs(1));
  EXPECT_EQ(rig.runs()[0].worker, WorkerId(1));
  EXPECT_EQ(rig.runs()[0].task, given[1].task);
}

TEST(Placement, AcceptsTheOutcomeOfATaskThatWasTakenBackTooLate) {
  ScheduleOptions options;
  options.queue_depth = 1;
  Rig rig(options);
  rig.join(0);
  rig.submit(sources(2), first(2));
  const auto given = rig.runs();
  rig.start(given[0]);
  rig.join(1);
  const RunTask again = rig.runs()[0];
  rig.finish(given[1]);
  ASSERT_THAT(rig.all<CancelTask>(), SizeIs(1));
  EXPECT_EQ(rig.all<CancelTask>()[0].attempt, again.attempt);
  rig.finish(again);
  EXPECT_EQ(rig.all<DropChunk>(), (std::vector<DropChunk>{{WorkerId(1), {SessionId(0), 1}}}));
  rig.finish(given[0]);
  EXPECT_THAT(rig.all<GraphEnded>(), SizeIs(1));
}

TEST(Placement, KeepsASecondOutcomeThatATaskThereReads) {
  ScheduleOptions options;
  options.queue_depth = 1;
  Rig rig(options);
  rig.join(0);
  rig.submit({source(), source(), reader({1}), reader({1}), reader({1}), reader({1})},
             {0, 2, 3, 4, 5});
  const auto given = rig.runs();
  rig.start(given[0]);
  rig.join(1);
  const RunTask again = rig.runs()[0];
  rig.finish(given[1]);
  const auto readers = rig.runs();
  ASSERT_TRUE(std::any_of(readers.begin(), readers.end(), [](const RunTask& run) {
    return run.worker == WorkerId(1);
  })) << "it fetches what it is about to have made";
  rig.finish(again);
  EXPECT_THAT(rig.all<DropChunk>(), SizeIs(0));
}

TEST(Placement, KeepsToAWorkersMemory) {
  Rig rig;
  rig.join(0, 8, 250);
  rig.submit(sources(5), first(5));
  EXPECT_THAT(rig.runs(), SizeIs(2));
}

TEST(Placement, GivesATaskThatIsLargerThanTheBudgetToAWorkerThatHasNothingElse) {
  Rig rig;
  rig.join(0, 8, 50);
  rig.submit(sources(2), first(2));
  ASSERT_THAT(rig.runs(), SizeIs(1));
  rig.finish(rig.runs()[0]);
  EXPECT_THAT(rig.runs(), SizeIs(1));
}

TEST(Placement, GivesMoreWhenTheWorkerHasSpilled) {
  Rig rig;
  rig.join(0, 8, 250);
  rig.submit(sources(5), first(5));
  rig.finish(rig.runs()[0]);
  EXPECT_THAT(rig.runs(), SizeIs(0));
  rig.feed(MemoryReported{WorkerId(0), 100});
  EXPECT_THAT(rig.runs(), SizeIs(1));
}

TEST(Placement, SharesAWorkerBetweenSessions) {
  ScheduleOptions options;
  options.queue_depth = 0;
  Rig rig(options);
  rig.join(0, 1);
  rig.submit(sources(10), first(10), 0);
  const auto running = rig.runs();
  rig.join(1, 1);
  rig.submit(sources(10), first(10), 1);
  rig.finish(running[0]);
  ASSERT_THAT(rig.runs(), SizeIs(1));
  EXPECT_EQ(rig.runs()[0].task.session, SessionId(1));
}

TEST(Placement, SendsAMappersPiecesToEachReducingWorkerTogether) {
  Rig rig;
  rig.join(0);
  rig.join(1);
  TaskSpec mapper{.output_bytes = {10, 10, 10, 10}, .scatter = true};
  rig.submit({mapper, mapper, reader({0, 4}), reader({1, 5}), reader({2, 6}), reader({3, 7})},
             {8, 9, 10, 11});
  const auto mappers = rig.runs();
  ASSERT_THAT(mappers, SizeIs(2));
  const RunTask& one = mappers[0].worker == WorkerId(0) ? mappers[0] : mappers[1];
  rig.finish(one);
  const std::uint32_t made = one.task.index * 4;
  EXPECT_EQ(rig.all<CopyChunks>(),
            (std::vector<CopyChunks>{
                {WorkerId(0), WorkerId(1), {{SessionId(0), made + 2}, {SessionId(0), made + 3}}}}));
}

/// Two workers with a mapper each, of whose two pieces one is for a reader at the other worker. The
/// first has finished its mapper.
struct Shuffle : Rig {
  Shuffle() {
    join(0);
    join(1);
    TaskSpec mapper{.output_bytes = {10, 10}, .scatter = true};
    submit({mapper, mapper, reader({0, 2}), reader({1, 3})}, {4, 5});
    const auto mappers = runs();
    const std::size_t first = mappers.at(0).worker == WorkerId(0) ? 0 : 1;
    other = mappers.at(1 - first);
    finish(mappers[first]);
    sent.index = mappers[first].task.index * 2 + 1;
    EXPECT_EQ(all<CopyChunks>(), (std::vector<CopyChunks>{{WorkerId(0), WorkerId(1), {sent}}}));
  }

  RunTask other;                  // the second worker's
  ChunkId sent{SessionId(0), 0};  // the piece that is for its reader
};

TEST(Placement, DropsAPieceWhereItWasMadeWhenItHasComeToItsReader) {
  Shuffle rig;
  rig.feed(ChunksCopied{WorkerId(1), {{rig.sent, 10}}});
  EXPECT_EQ(rig.all<DropChunk>(), (std::vector<DropChunk>{{WorkerId(0), rig.sent}}));
  // The reader takes it from where it is now.
  rig.finish(rig.other);
  for (const RunTask& run : rig.runs())
    for (const InputPlace& input : run.inputs)
      EXPECT_TRUE(input.chunk != rig.sent.index || input.from == WorkerId(1));
}

TEST(Placement, KeepsAPieceWhereItWasMadeWhenItsReadersWorkerHasBegunToLeave) {
  Shuffle rig;
  rig.feed(WorkerLeaving{WorkerId(1)});
  rig.feed(ChunksCopied{WorkerId(1), {{rig.sent, 10}}});
  EXPECT_THAT(rig.all<DropChunk>(), SizeIs(0));
  // Nor is it sent back.
  EXPECT_THAT(rig.all<CopyChunks>(), SizeIs(0));
}

TEST(Placement, RunsAStragglerASecondTimeAndTakesTheFirstOutcome) {
  ScheduleOptions options;
  options.straggler_samples = 1;
  options.straggler_least = 1000;
  Rig rig(options);
  rig.join(0);
  rig.submit(sources(2), first(2));
  const auto runs = rig.runs();
  rig.start(runs[0]);
  rig.now = 10;
  rig.finish(runs[0]);
  rig.start(runs[1]);
  rig.join(1);
  rig.now = 1000;
  rig.feed(TimePassed{});
  EXPECT_THAT(rig.runs(), SizeIs(0));
  rig.now = 2000;
  rig.feed(TimePassed{});
  ASSERT_THAT(rig.runs(), SizeIs(1));
  const RunTask second = rig.runs()[0];
  EXPECT_EQ(second.worker, WorkerId(1));
  rig.feed(TimePassed{});
  EXPECT_THAT(rig.runs(), SizeIs(0));
  rig.finish(second);
  EXPECT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  ASSERT_THAT(rig.all<CancelTask>(), SizeIs(1));
  rig.finish(runs[1]);
  EXPECT_THAT(rig.all<GraphEnded>(), SizeIs(0));
  EXPECT_EQ(rig.all<DropChunk>(), (std::vector<DropChunk>{{WorkerId(0), {SessionId(0), 1}}}));
}

}  // namespace
}  // namespace muster::engine
