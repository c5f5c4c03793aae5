#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/engine/schedule/schedule_testing.h"

namespace muster::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Failure, RecomputesWhatALostWorkerHeldAndOnlyWhatIsNeeded) {
  Rig rig;
  rig.join(0);
  // 0 -> 1 -> 2 (wanted); 3 (wanted) is nobody's input.
  rig.submit({source(), reader({0}), reader({1}), source()}, {2, 3});
  std::vector<RunTask> next = rig.runs();
  while (!next.empty()) {
    const RunTask run = next.front();
    next.erase(next.begin());
    rig.finish(run);
    for (const RunTask& more : rig.runs()) next.push_back(more);
  }
  rig.join(1);
  rig.feed(ChunksCopied{WorkerId(1), {{{SessionId(0), 3}, 100}}});
  rig.feed(WorkerLost{WorkerId(0)});
  std::vector<std::uint32_t> again;
  while (!rig.runs().empty()) {
    again.push_back(rig.runs()[0].task.index);
    rig.finish(rig.runs()[0]);
  }
  EXPECT_EQ(again, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(Failure, GivesTheTasksOfALostWorkerToOthers) {
  Rig rig;
  rig.join(0);
  rig.submit({source()}, {0});
  rig.join(1);
  rig.feed(WorkerLost{WorkerId(0)});
  ASSERT_THAT(rig.runs(), SizeIs(1));
  EXPECT_EQ(rig.runs()[0].worker, WorkerId(1));
}

TEST(Failure, FailsAGraphWhoseTaskTookThreeWorkersAlong) {
  Rig rig;
  for (std::uint32_t worker = 0; worker < 4; ++worker) rig.join(worker);
  rig.submit({source()}, {0}, 0);
  RunTask run = rig.runs()[0];
  rig.submit({source()}, {0}, 1);
  const RunTask other = rig.runs()[0];
  for (int i = 0; i < 2; ++i) {
    rig.start(run);
    rig.feed(WorkerLost{run.worker});
    ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(0));
    for (const RunTask& again : rig.runs())
      if (again.task.session == SessionId(0)) run = again;
  }
  rig.start(run);
  rig.feed(WorkerLost{run.worker});
  ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  const GraphEnded ended = rig.all<GraphEnded>()[0];
  EXPECT_EQ(ended.session, SessionId(0));
  EXPECT_EQ(ended.outcome, GraphOutcome::failed);
  EXPECT_THAT(ended.report, HasSubstr("[add] task 0 of session 0 was running on 3 workers"));
  EXPECT_THAT(ended.report, HasSubstr(std::to_string(run.worker.value())));
  EXPECT_EQ(rig.scheduler.progress(SessionId(1), GraphId(0)).total, 1u);
  (void)other;
}

TEST(Failure, DoesNotBlameATaskThatHadNotStartedBesideOneThatHad) {
  ScheduleOptions options;
  options.most_deaths = 1;
  Rig rig(options);
  rig.join(0);
  rig.submit({source()}, {0}, 0);
  const RunTask first = rig.runs()[0];
  rig.submit({source()}, {0}, 1);
  rig.start(first);
  rig.feed(WorkerLost{WorkerId(0)});
  ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  EXPECT_EQ(rig.all<GraphEnded>()[0].session, SessionId(0));
}

TEST(Failure, RetriesElsewhereAndNotForEver) {
  ScheduleOptions options;
  options.most_failures = 2;
  Rig rig(options);
  rig.join(0);
  rig.join(1);
  rig.submit({source()}, {0});
  for (int i = 0; i < 2; ++i) {
    const RunTask run = rig.runs()[0];
    rig.fail(run, TaskFault::retryable);
    rig.now += 10 * options.retry_pause;
    rig.feed(TimePassed{});
    ASSERT_THAT(rig.runs(), SizeIs(1));
    EXPECT_NE(rig.runs()[0].worker, run.worker);
  }
  rig.fail(rig.runs()[0], TaskFault::retryable);
  ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  EXPECT_THAT(rig.all<GraphEnded>()[0].report, HasSubstr("tried 3 times"));
  EXPECT_THAT(rig.all<GraphEnded>()[0].report, HasSubstr("no luck"));
}

TEST(Failure, PausesBeforeItTriesAgainAndLongerEachTime) {
  const ScheduleOptions options;
  Rig rig(options);
  rig.join(0);
  rig.join(1);
  rig.submit({source()}, {0});
  Instant pause = options.retry_pause;
  for (std::uint32_t i = 0; i < options.most_failures; ++i, pause *= 4) {
    rig.fail(rig.runs()[0], TaskFault::retryable);
    EXPECT_THAT(rig.runs(), SizeIs(0));
    EXPECT_EQ(rig.scheduler.counts().resting, 1u);
    rig.now += pause - 1;
    rig.feed(TimePassed{});
    EXPECT_THAT(rig.runs(), SizeIs(0));
    rig.now += 1;
    rig.feed(TimePassed{});
    ASSERT_THAT(rig.runs(), SizeIs(1));
    EXPECT_EQ(rig.scheduler.counts().resting, 0u);
  }
  rig.finish(rig.runs()[0]);
  ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  EXPECT_EQ(rig.all<GraphEnded>()[0].outcome, GraphOutcome::finished);
}

TEST(Failure, CountsOnlyFailuresSinceItLastSucceeded) {
  const ScheduleOptions options;
  Rig rig(options);
  rig.join(0);
  rig.submit({source()}, {0});
  for (std::uint32_t i = 0; i <= options.most_failures; ++i) {
    rig.fail(rig.runs()[0], TaskFault::retryable);
    ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(0));
    rig.now += options.retry_pause;
    rig.feed(TimePassed{});
    ASSERT_THAT(rig.runs(), SizeIs(1)) << "it waits longer for what failed before it was done";
    rig.finish(rig.runs()[0]);
    rig.feed(ChunksLost{WorkerId(0), {{SessionId(0), 0}}});
    ASSERT_THAT(rig.runs(), SizeIs(1));
  }
}

TEST(Failure, ATaskThatRestsWaitsForItsInputsToo) {
  Rig rig;
  rig.join(0);
  rig.submit({source(), reader({0})}, {1});
  rig.finish(rig.runs()[0]);
  rig.fail(rig.runs()[0], TaskFault::retryable);
  rig.feed(ChunksLost{WorkerId(0), {{SessionId(0), 0}}});
  const RunTask again = rig.runs()[0];
  EXPECT_EQ(again.task.index, 0u);
  rig.finish(again);
  EXPECT_THAT(rig.runs(), SizeIs(0)) << "its input is there again, but it still rests";
  rig.now += ScheduleOptions().retry_pause;
  rig.feed(TimePassed{});
  ASSERT_THAT(rig.runs(), SizeIs(1));
  EXPECT_EQ(rig.runs()[0].task.index, 1u);
}

TEST(Failure, ATaskThatRestsIsForgottenWithItsGraph) {
  Rig rig;
  rig.join(0);
  rig.submit({source()}, {0});
  rig.fail(rig.runs()[0], TaskFault::retryable);
  rig.feed(GraphCancelled{SessionId(0), GraphId(0)});
  rig.submit({source()}, {1}, 0, 1);
  const RunTask next = rig.runs()[0];
  rig.now += ScheduleOptions().retry_pause;
  rig.feed(TimePassed{});
  EXPECT_THAT(rig.runs(), SizeIs(0));
  EXPECT_EQ(rig.scheduler.counts().resting, 0u);
  rig.finish(next);
  EXPECT_THAT(rig.all<GraphEnded>(), SizeIs(1));
}

TEST(Failure, AnErrorEndsTheGraphsThatNeedTheTaskAndNoOther) {
  Rig rig;
  rig.join(0, 8);
  rig.submit({source(), reader({0}), source()}, {1}, 0, 0);
  const RunTask bad = rig.runs()[0];
  rig.submit({}, {2}, 0, 1);
  ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(1)) << "chunk 2 was never wanted and is forgotten";
  rig.submit({source()}, {3}, 0, 2);
  const RunTask good = rig.runs()[0];
  rig.fail(bad, TaskFault::error);
  ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  EXPECT_EQ(rig.all<GraphEnded>()[0].graph, GraphId(0));
  rig.finish(good);
  EXPECT_EQ(rig.all<GraphEnded>()[0].graph, GraphId(2));
}

TEST(Failure, KeepsEarlierResultsWhenALaterGraphFails) {
  Rig rig;
  rig.join(0);
  rig.submit({source()}, {0}, 0, 0);
  rig.finish(rig.runs()[0]);
  rig.submit({reader({0})}, {1}, 0, 1);
  rig.fail(rig.runs()[0], TaskFault::error);
  EXPECT_THAT(rig.all<DropChunk>(), SizeIs(0));
  EXPECT_EQ(rig.scheduler.counts().copies, 1u);
}

TEST(Failure, DisbelievesAHolderThatNeverGivesAChunk) {
  Rig rig;
  rig.join(0);
  rig.submit({source(), reader({0})}, {1});
  rig.finish(rig.runs()[0]);
  for (int i = 0; i < 2; ++i) {
    rig.fail(rig.runs()[0], TaskFault::inputs_missing, {0});
    ASSERT_THAT(rig.runs(), SizeIs(1));
    EXPECT_EQ(rig.runs()[0].task.index, 1u);
  }
  rig.fail(rig.runs()[0], TaskFault::inputs_missing, {0});
  ASSERT_THAT(rig.runs(), SizeIs(1));
  EXPECT_EQ(rig.runs()[0].task.index, 0u);
}

TEST(Failure, ASilentWorkerGetsNothingNewAndItsTasksAreRunBeside) {
  Rig rig;
  rig.join(0);
  rig.submit({source()}, {0});
  rig.join(1);
  rig.feed(WorkerSilent{WorkerId(0), true});
  rig.feed(TimePassed{});
  ASSERT_THAT(rig.runs(), SizeIs(1));
  EXPECT_EQ(rig.runs()[0].worker, WorkerId(1));
  rig.feed(WorkerSilent{WorkerId(0), false});
  EXPECT_THAT(rig.actions, SizeIs(0));
}

/// A worker that leaves, and whose only chunk is on its way to another.
struct HandOver : Rig {
  HandOver() {
    join(0);
    submit({source()}, {0});
    finish(runs()[0]);
    join(1);
    feed(WorkerLeaving{WorkerId(0)});
    EXPECT_EQ(all<CopyChunks>(), copies);
  }

  const std::vector<CopyChunks> copies{{WorkerId(0), WorkerId(1), {{SessionId(0), 0}}}};
};

TEST(Failure, ALeavingWorkerHandsOverItsDataAndIsReleased) {
  HandOver rig;
  EXPECT_THAT(rig.all<WorkerReleased>(), SizeIs(0));
  rig.feed(ChunksCopied{WorkerId(1), {{{SessionId(0), 0}, 100}}});
  EXPECT_THAT(rig.all<WorkerReleased>(), SizeIs(1));
  rig.feed(WorkerLost{WorkerId(0), false});
  EXPECT_THAT(rig.actions, SizeIs(0));
}

TEST(Failure, ALeavingWorkerNeedsNoOtherWhenItHoldsNothing) {
  Rig rig;
  rig.join(0);
  rig.feed(WorkerLeaving{WorkerId(0)});
  EXPECT_THAT(rig.all<WorkerReleased>(), SizeIs(1));
}

TEST(Failure, TheLastWorkerWaitsForAnotherThatTakesItsData) {
  Rig rig;
  rig.join(0);
  rig.submit({source()}, {0});
  rig.finish(rig.runs()[0]);
  rig.feed(WorkerLeaving{WorkerId(0)});
  EXPECT_THAT(rig.actions, SizeIs(0));
  rig.join(1);
  EXPECT_THAT(rig.all<CopyChunks>(), SizeIs(1));
}

TEST(Failure, ALeavingWorkerFinishesWhatItBegan) {
  Rig rig;
  rig.join(0);
  rig.submit({source()}, {0});
  const RunTask run = rig.runs()[0];
  rig.start(run);
  rig.join(1);
  rig.feed(WorkerLeaving{WorkerId(0)});
  EXPECT_THAT(rig.actions, SizeIs(0));
  rig.finish(run);
  EXPECT_THAT(rig.all<CopyChunks>(), SizeIs(1));
}

TEST(Failure, WorkersThatLeaveTogetherDoNotRelyOnEachOther) {
  Rig rig;
  rig.join(0);
  rig.submit({source()}, {0});
  rig.finish(rig.runs()[0]);
  rig.join(1);
  const ChunkId chunk{SessionId(0), 0};
  rig.feed(ChunksCopied{WorkerId(1), {{chunk, 100}}});
  rig.feed(WorkerLeaving{WorkerId(0)});
  EXPECT_THAT(rig.all<WorkerReleased>(), SizeIs(1));
  rig.feed(WorkerLeaving{WorkerId(1)});
  EXPECT_THAT(rig.all<WorkerReleased>(), SizeIs(0));
  rig.join(2);
  EXPECT_EQ(rig.all<CopyChunks>(), (std::vector<CopyChunks>{{WorkerId(1), WorkerId(2), {chunk}}}));
  rig.feed(ChunksCopied{WorkerId(2), {{chunk, 100}}});
  EXPECT_EQ(rig.all<WorkerReleased>(), (std::vector<WorkerReleased>{{WorkerId(1)}}));
}

TEST(Failure, ALeavingWorkerSendsAnewWhatWasOnItsWayToOneThatDied) {
  HandOver rig;
  rig.join(2);
  rig.feed(WorkerLost{WorkerId(1), true});
  EXPECT_EQ(rig.all<CopyChunks>(),
            (std::vector<CopyChunks>{{WorkerId(0), WorkerId(2), {{SessionId(0), 0}}}}));
}

TEST(Failure, ALeavingWorkerSendsAnewWhatDidNotArrive) {
  HandOver rig;
  rig.feed(ChunksLost{WorkerId(1), {{SessionId(0), 0}}});
  EXPECT_EQ(rig.all<CopyChunks>(), rig.copies);
}

TEST(Failure, ALeavingWorkerSendsAnewWhatAWorkerThatRegistersAgainDoesNotHave) {
  HandOver rig;
  rig.feed(WorkerJoined{WorkerId(1), 1, 1'000'000, {}, {}});
  EXPECT_EQ(rig.all<CopyChunks>(), rig.copies);
}

TEST(Failure, AWorkerThatRegistersAgainIsBelieved) {
  Rig rig;
  rig.join(0, 4);
  rig.submit({source(), source(), source()}, {0, 1, 2});
  const auto runs = rig.runs();
  ASSERT_THAT(runs, SizeIs(3));
  rig.finish(runs[0]);
  // It lost chunk 0, finished task 1, still runs task 2 and something that nobody asked for.
  rig.feed(WorkerJoined{WorkerId(0),
                        4,
                        1'000'000,
                        {{{SessionId(0), 1}, 100}},
                        {{runs[2].task, runs[2].attempt}, {{SessionId(0), 0}, 77}}});
  ASSERT_THAT(rig.all<CancelTask>(), SizeIs(1));
  EXPECT_EQ(rig.all<CancelTask>()[0].attempt, 77u);
  ASSERT_THAT(rig.runs(), SizeIs(1));
  EXPECT_EQ(rig.runs()[0].task.index, 0u);
  rig.finish(rig.runs()[0]);
  rig.finish(runs[2]);
  EXPECT_THAT(rig.all<GraphEnded>(), SizeIs(1));
}

}  // namespace
}  // namespace muster::engine
