#include "muster/service/worker/reporter.h"

#include <gtest/gtest.h>

#include "muster/engine/storage/storage_testing.h"

namespace muster::service {
namespace {

using engine::ChunkId;
using engine::ChunksCopied;
using engine::eventually;
using engine::MemoryReported;
using engine::SessionId;
using engine::TaskFinished;
using engine::TaskId;
using engine::TaskStarted;
using engine::WorkerId;

TaskId task(std::uint32_t index) { return {SessionId(1), index}; }

Outcome finished(std::uint32_t index) {
  Outcome outcome;
  outcome.report.event = TaskFinished{{}, task(index), 1, {8}};
  outcome.first_output = index;
  outcome.outputs = 1;
  return outcome;
}

class ReporterTest : public testing::Test {
 protected:
  ReporterNeeds needs() {
    return {[this](const Reports& reports) {
              const std::scoped_lock lock(mutex);
              if (!there) return false;
              messages.push_back(reports);
              return true;
            },
            [this](ChunkId chunk) { return chunk.index != dropped; },
            [this] { return spilled.load(); }};
  }
  std::vector<Report> all() {
    const std::scoped_lock lock(mutex);
    std::vector<Report> reports;
    for (const Reports& message : messages)
      reports.insert(reports.end(), message.reports.begin(), message.reports.end());
    return reports;
  }

  std::mutex mutex;
  bool there = true;
  std::uint32_t dropped = 99;
  std::atomic<std::uint64_t> spilled = 0;
  std::vector<Reports> messages;
};

TEST_F(ReporterTest, SignsWhatItSends) {
  Reporter reporter(1, needs());
  reporter.resume(7, WorkerId(3));
  reporter.add(ChunksCopied{});
  reporter.flush();
  ASSERT_TRUE(eventually([&] { return all().size() == 1; }));
  EXPECT_EQ(messages[0].epoch, 7u);
  EXPECT_EQ(messages[0].worker, WorkerId(3));
  EXPECT_EQ(std::get<ChunksCopied>(all()[0].event).worker, WorkerId(3));
}

TEST_F(ReporterTest, SendsByItselfSoon) {
  Reporter reporter(1, needs());
  reporter.resume(7, WorkerId(3));
  reporter.add(ChunksCopied{});
  EXPECT_TRUE(eventually([&] { return all().size() == 1; }));
}

TEST_F(ReporterTest, SaysThatATaskBeganIfItIsStillRunning) {
  Reporter reporter(2, needs());
  reporter.resume(7, WorkerId(3));
  reporter.started(1, {task(5), 2});
  ASSERT_TRUE(eventually([&] { return all().size() == 1; }));
  EXPECT_EQ(std::get<TaskStarted>(all()[0].event), (TaskStarted{WorkerId(3), task(5), 2}));
  reporter.ended(1, finished(5));
  reporter.flush();
  EXPECT_TRUE(eventually([&] { return all().size() == 2; }));
}

TEST_F(ReporterTest, KeepsOutcomesForASchedulerThatIsAway) {
  Reporter reporter(1, needs());
  reporter.resume(7, WorkerId(3));
  reporter.ended(finished(1));
  reporter.flush();
  ASSERT_TRUE(eventually([&] { return all().size() == 1; }));
  {
    const std::scoped_lock lock(mutex);
    there = false;
    messages.clear();
    dropped = 1;
  }
  reporter.ended(finished(2));
  reporter.add(ChunksCopied{});
  reporter.flush();
  EXPECT_TRUE(reporter.broken());
  reporter.pause();
  EXPECT_FALSE(reporter.broken());
  reporter.ended(finished(3));
  {
    const std::scoped_lock lock(mutex);
    there = true;
  }
  reporter.resume(8, WorkerId(4));
  const auto reports = all();
  ASSERT_EQ(reports.size(), 2u) << "not what it dropped, nor what the registration said";
  EXPECT_EQ(std::get<TaskFinished>(reports[0].event).task, task(2));
  EXPECT_EQ(std::get<TaskFinished>(reports[1].event).task, task(3));
  EXPECT_EQ(messages[0].epoch, 8u);
}

TEST_F(ReporterTest, TellsHowMuchIsOnDiskWhenThatChanges) {
  Reporter reporter(1, needs());
  reporter.resume(7, WorkerId(3));
  spilled = 1000;
  ASSERT_TRUE(eventually([&] { return all().size() == 1; }));
  EXPECT_EQ(std::get<MemoryReported>(all()[0].event).spilled, 1000u);
}

TEST_F(ReporterTest, SendsTogetherWhatComesTogether) {
  Reporter reporter(1, needs());
  reporter.pause();
  for (std::uint32_t i = 0; i < 1000; ++i) reporter.ended(finished(i + 100));
  reporter.resume(7, WorkerId(3));
  EXPECT_EQ(messages.size(), 1u);
  EXPECT_EQ(all().size(), 1000u);
}

}  // namespace
}  // namespace muster::service
