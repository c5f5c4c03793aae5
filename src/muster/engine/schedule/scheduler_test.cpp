#include "muster/engine/schedule/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/engine/schedule/schedule_testing.h"

namespace muster::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Scheduler, RunsATaskAndEndsItsGraph) {
  Rig rig;
  rig.join(0);
  rig.submit({source()}, {0});
  ASSERT_THAT(rig.runs(), SizeIs(1));
  rig.finish(rig.runs()[0]);
  ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  EXPECT_EQ(rig.all<GraphEnded>()[0].outcome, GraphOutcome::finished);
}

TEST(Scheduler, RunsATaskOnlyWhenItsInputsAreThere) {
  Rig rig;
  rig.join(0, 8);
  rig.submit({source(), source(), reader({0, 1})}, {2});
  const auto first = rig.runs();
  ASSERT_THAT(first, SizeIs(2));
  rig.finish(first[0]);
  EXPECT_THAT(rig.runs(), SizeIs(0));
  rig.finish(first[1]);
  ASSERT_THAT(rig.runs(), SizeIs(1));
  EXPECT_EQ(rig.runs()[0].inputs, (std::vector<InputPlace>{{0, WorkerId(0)}, {1, WorkerId(0)}}));
}

TEST(Scheduler, ReadsAChunkTwiceIfATaskNamesItTwice) {
  Rig rig;
  rig.join(0);
  rig.submit({source(), reader({0, 0})}, {1});
  rig.finish(rig.runs()[0]);
  ASSERT_THAT(rig.runs(), SizeIs(1));
  rig.finish(rig.runs()[0]);
  EXPECT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  EXPECT_EQ(rig.all<DropChunk>(), (std::vector<DropChunk>{{WorkerId(0), {SessionId(0), 0}}}));
}

TEST(Scheduler, NeverRunsWhatNobodyWants) {
  Rig rig;
  rig.join(0, 8);
  rig.submit({source(), source()}, {1});
  ASSERT_THAT(rig.runs(), SizeIs(1));
  EXPECT_EQ(rig.runs()[0].task.index, 1u);
}

TEST(Scheduler, WaitsForAWorkerWhenThereIsNone) {
  Rig rig;
  rig.submit({source()}, {0});
  EXPECT_THAT(rig.runs(), SizeIs(0));
  rig.join(0);
  EXPECT_THAT(rig.runs(), SizeIs(1));
}

TEST(Scheduler, DropsAChunkAfterItsLastReaderAndKeepsWhatIsWanted) {
  Rig rig;
  rig.join(0);
  rig.submit({source(), reader({0}), reader({0})}, {1, 2});
  rig.finish(rig.runs()[0]);
  const auto readers = rig.runs();
  ASSERT_THAT(readers, SizeIs(2));
  rig.finish(readers[0]);
  EXPECT_THAT(rig.all<DropChunk>(), SizeIs(0));
  rig.finish(readers[1]);
  EXPECT_EQ(rig.all<DropChunk>(), (std::vector<DropChunk>{{WorkerId(0), {SessionId(0), 0}}}));
}

TEST(Scheduler, ForgetsEverythingWhenResultsAreReleased) {
  Rig rig;
  rig.join(0);
  rig.submit({source(), reader({0})}, {1});
  rig.finish(rig.runs()[0]);
  rig.finish(rig.runs()[0]);
  rig.feed(ChunksReleased{SessionId(0), GraphId(0), {1}});
  EXPECT_EQ(rig.all<DropChunk>(), (std::vector<DropChunk>{{WorkerId(0), {SessionId(0), 1}}}));
  const ScheduleCounts counts = rig.scheduler.counts();
  EXPECT_EQ(counts.tasks + counts.chunks + counts.graphs + counts.copies, 0u);
}

TEST(Scheduler, AppendsToAGraphAndEndsItOncePerStage) {
  Rig rig;
  rig.join(0);
  rig.submit({source()}, {0}, 0, 0, false);
  rig.finish(rig.runs()[0]);
  EXPECT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  rig.submit({reader({0})}, {1});
  EXPECT_THAT(rig.all<GraphEnded>(), SizeIs(0));
  ASSERT_THAT(rig.runs(), SizeIs(1));
  rig.finish(rig.runs()[0]);
  EXPECT_THAT(rig.all<GraphEnded>(), SizeIs(1));
}

TEST(Scheduler, RefusesATaskThatReadsWhatNoEarlierOneMakes) {
  Rig rig;
  rig.join(0);
  rig.submit({reader({0})}, {0});
  ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  EXPECT_EQ(rig.all<GraphEnded>()[0].outcome, GraphOutcome::failed);
  EXPECT_THAT(rig.all<GraphEnded>()[0].report,
              HasSubstr("reads chunk 0, which no earlier task makes"));
  EXPECT_EQ(rig.scheduler.counts().sessions, 0u);
}

TEST(Scheduler, RefusesAChunkThatWasReleased) {
  Rig rig;
  rig.join(0);
  rig.submit({source()}, {0});
  rig.finish(rig.runs()[0]);
  rig.feed(ChunksReleased{SessionId(0), GraphId(0), {0}});
  rig.submit({reader({0})}, {1}, 0, 1);
  ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  EXPECT_THAT(rig.all<GraphEnded>()[0].report, HasSubstr("was released"));
}

TEST(Scheduler, RefusesToAppendToAGraphWhoseLastTasksCame) {
  Rig rig;
  rig.join(0);
  rig.submit({source()}, {0});
  rig.submit({source()}, {1});
  ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  EXPECT_THAT(rig.all<GraphEnded>()[0].report, HasSubstr("takes no more tasks"));
}

TEST(Scheduler, CancelsWhatOnlyTheCancelledGraphNeeds) {
  Rig rig;
  rig.join(0, 8);
  rig.submit({source(), source()}, {0, 1});
  rig.submit({}, {1}, 0, 1);
  rig.feed(GraphCancelled{SessionId(0), GraphId(0)});
  ASSERT_THAT(rig.all<CancelTask>(), SizeIs(1));
  EXPECT_EQ(rig.all<CancelTask>()[0].task.index, 0u);
  EXPECT_EQ(rig.all<GraphEnded>()[0].outcome, GraphOutcome::cancelled);
}

TEST(Scheduler, DropsAllOfAClosedSession) {
  Rig rig;
  rig.join(0, 8);
  rig.submit({source(), source()}, {0, 1});
  const auto runs = rig.runs();
  rig.finish(runs[0]);
  rig.feed(SessionClosed{SessionId(0)});
  EXPECT_THAT(rig.all<DropChunk>(), SizeIs(1));
  EXPECT_THAT(rig.all<CancelTask>(), SizeIs(1));
  rig.finish(runs[1]);
  EXPECT_THAT(rig.all<ForgetTask>(), SizeIs(1));
  EXPECT_EQ(rig.scheduler.counts().copies, 0u);
}

TEST(Scheduler, WaitsForUploadedChunksAndFailsWhenTheyAreLost) {
  Rig rig;
  rig.join(0);
  rig.submit({{.output_bytes = {10}, .external = true}, reader({0})}, {1});
  EXPECT_THAT(rig.runs(), SizeIs(0));
  rig.feed(ChunksCopied{WorkerId(0), {{{SessionId(0), 0}, 12}}});
  EXPECT_THAT(rig.runs(), SizeIs(1));
  rig.feed(WorkerLost{WorkerId(0), false});
  ASSERT_THAT(rig.all<GraphEnded>(), SizeIs(1));
  EXPECT_THAT(rig.all<GraphEnded>()[0].report, HasSubstr("upload it again"));
}

TEST(Scheduler, TellsProgressWhenItChanged) {
  Rig rig;
  rig.join(0);
  rig.submit({source(), reader({0})}, {1});
  rig.finish(rig.runs()[0], {70});
  rig.feed(TimePassed{});
  EXPECT_EQ(rig.all<GraphProgress>(),
            (std::vector<GraphProgress>{{SessionId(0), GraphId(0), 1, 2, 70}}));
  rig.feed(TimePassed{});
  EXPECT_THAT(rig.all<GraphProgress>(), SizeIs(0));
}

TEST(Scheduler, IgnoresWhatStrangersSay) {
  Rig rig;
  rig.feed(TaskFinished{WorkerId(7), {SessionId(3), 9}, 1, {}});
  rig.feed(TaskStarted{WorkerId(7), {SessionId(3), 9}, 1});
  rig.feed(TaskFailed{WorkerId(7), {SessionId(3), 9}, 1, TaskFault::error, "", {}});
  rig.feed(ChunksLost{WorkerId(7), {{SessionId(3), 9}}});
  rig.feed(ChunksReleased{SessionId(3), GraphId(1), {2}});
  rig.feed(WorkerLost{WorkerId(7), true});
  rig.feed(WorkerSilent{WorkerId(7), true});
  rig.feed(WorkerLeaving{WorkerId(7)});
  EXPECT_THAT(rig.actions, SizeIs(0));
  rig.join(0);
  rig.feed(ChunksCopied{WorkerId(0), {{{SessionId(3), 9}, 1}}});
  EXPECT_EQ(rig.all<DropChunk>(), (std::vector<DropChunk>{{WorkerId(0), {SessionId(3), 9}}}));
}

}  // namespace
}  // namespace muster::engine
