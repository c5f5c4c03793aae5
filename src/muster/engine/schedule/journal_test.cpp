#include "muster/engine/schedule/journal.h"

#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/engine/errors.h"
#include "muster/engine/schedule/schedule_testing.h"

namespace muster::engine {
namespace {

std::vector<ScheduleEvent> one_of_each() {
  const TaskId task{SessionId(1), 2};
  const ChunkId chunk{SessionId(1), 3};
  return {GraphSubmitted{SessionId(1),
                         GraphId(2),
                         {"add", "sum"},
                         {source(), {{0, 0}, {1, 2}, 1, false, true, false}},
                         {1},
                         false},
          WorkerJoined{WorkerId(4), 2, 1000, {{chunk, 5}}, {{task, 6}}},
          WorkerLeaving{WorkerId(4)},
          WorkerLost{WorkerId(4), false},
          WorkerSilent{WorkerId(4), false},
          TaskStarted{WorkerId(4), task, 7},
          TaskFinished{WorkerId(4), task, 7, {1, 2}, 12345},
          TaskFailed{WorkerId(4), task, 7, TaskFault::inputs_missing, "why", {3}},
          ChunksCopied{WorkerId(4), {{chunk, 5}}},
          ChunksLost{WorkerId(4), {chunk}},
          ChunksReleased{SessionId(1), GraphId(2), {3}},
          GraphCancelled{SessionId(1), GraphId(2)},
          SessionClosed{SessionId(1)},
          MemoryReported{WorkerId(4), 9},
          TimePassed{}};
}

TEST(Journal, GivesBackEveryEvent) {
  std::vector<std::byte> journal;
  for (const ScheduleEvent& event : one_of_each()) {
    const auto record = encode({42, event});
    journal.insert(journal.end(), record.begin(), record.end());
  }
  JournalReader reader(journal);
  for (const ScheduleEvent& event : one_of_each()) {
    const auto record = reader.next();
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->now, 42);
    EXPECT_TRUE(record->event == event) << event.index();
  }
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_EQ(reader.good(), journal.size());
}

TEST(Journal, EndsWhereItWasTorn) {
  const auto whole = encode({1, TimePassed{}});
  std::vector<std::byte> journal = whole;
  const auto torn = encode({2, WorkerLost{WorkerId(4), false}});
  for (std::size_t kept = 0; kept < torn.size(); ++kept) {
    journal.resize(whole.size());
    journal.insert(journal.end(), torn.begin(), torn.begin() + static_cast<std::ptrdiff_t>(kept));
    JournalReader reader(journal);
    ASSERT_TRUE(reader.next().has_value());
    EXPECT_FALSE(reader.next().has_value()) << kept;
    EXPECT_EQ(reader.good(), whole.size());
  }
  journal.resize(whole.size());
  journal.resize(whole.size() + 100);  // zeros, as after a crash of the machine
  JournalReader reader(journal);
  ASSERT_TRUE(reader.next().has_value());
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Journal, SurvivesAnyDamage) {
  Random random(1);
  for (const ScheduleEvent& event : one_of_each()) {
    for (int i = 0; i < 50; ++i) {
      auto record = encode({1, event});
      record[random.below(record.size())] ^=
          std::byte{static_cast<unsigned char>(1 + random.below(255))};
      JournalReader reader(record);
      EXPECT_FALSE(reader.next().has_value());
    }
  }
}

TEST(Journal, ReplaysToTheSameStateAndTheSameActions) {
  Rig rig;
  std::vector<std::byte> journal;
  std::vector<RunTask> open;
  Random random(7);
  const auto feed = [&](const ScheduleEvent& event) {
    const auto record = encode({rig.now, event});
    journal.insert(journal.end(), record.begin(), record.end());
    rig.feed(event);
    for (const RunTask& run : rig.runs()) open.push_back(run);
  };
  for (std::uint32_t worker = 0; worker < 4; ++worker)
    feed(WorkerJoined{WorkerId(worker), 2, 10'000, {}, {}});
  std::vector<TaskSpec> tasks;
  for (std::uint32_t i = 0; i < 300; ++i)
    tasks.push_back(i < 10 ? source()
                           : reader({i - 1 - static_cast<std::uint32_t>(random.below(10)),
                                     i - 1 - static_cast<std::uint32_t>(random.below(10))}));
  feed(GraphSubmitted{SessionId(0), GraphId(0), {"add"}, tasks, {299}, true});
  while (!open.empty()) {
    rig.now += 1000;
    const RunTask run = open.front();
    open.erase(open.begin());
    feed(TaskStarted{run.worker, run.task, run.attempt});
    rig.now += static_cast<Instant>(random.below(10'000));
    feed(TaskFinished{run.worker, run.task, run.attempt, {random.below(200)}});
    if (run.task.index == 150) feed(WorkerLost{WorkerId(1), true});
    Scheduler again;
    if (random.below(20) != 0) continue;
    JournalReader reader(journal);
    ScheduleActions actions;
    while (const auto record = reader.next()) {
      actions.clear();
      again.handle(record->now, record->event, actions);
    }
    ASSERT_EQ(again.digest(), rig.scheduler.digest());
    ASSERT_TRUE(actions == rig.actions);
  }
  EXPECT_EQ(rig.scheduler.progress(SessionId(0), GraphId(0)).done,
            rig.scheduler.progress(SessionId(0), GraphId(0)).total);
}

}  // namespace
}  // namespace muster::engine
