#include "muster/service/worker/outcome_log.h"

#include <gtest/gtest.h>

namespace muster::service {
namespace {

using engine::ChunkId;
using engine::SessionId;
using engine::TaskFailed;
using engine::TaskFinished;

Outcome finished_with(std::uint32_t task, std::uint32_t first_output, std::uint32_t outputs) {
  Outcome outcome;
  outcome.report.event = TaskFinished{{}, {SessionId(1), task}, 1, {}};
  outcome.first_output = first_output;
  outcome.outputs = outputs;
  return outcome;
}

TEST(OutcomeLog, TellsAgainWhatFailedAndWhatIsStillHere) {
  OutcomeLog log;
  log.add(finished_with(1, 10, 2));
  log.add(finished_with(2, 12, 1));
  Outcome failed;
  failed.report.event = TaskFailed{{}, {SessionId(1), 3}, 1, {}, "no", {}};
  log.add(failed);
  const auto reports = log.tell_again([](ChunkId chunk) { return chunk.index != 11; });
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(std::get<TaskFinished>(reports[0].event).task.index, 2u);
  EXPECT_EQ(std::get<TaskFailed>(reports[1].event).task.index, 3u);
}

TEST(OutcomeLog, KnowsWhatATaskLeft) {
  OutcomeLog log;
  log.add(finished_with(1, 10, 2));
  const std::vector<ChunkId> made{{SessionId(1), 10}, {SessionId(1), 11}};
  EXPECT_EQ(log.made_by({SessionId(1), 1}), made);
  EXPECT_TRUE(log.made_by({SessionId(2), 1}).empty());
}

TEST(OutcomeLog, ForgetsTheOldest) {
  OutcomeLog log;
  for (std::uint32_t i = 0; i <= OutcomeLog::kMost; ++i) log.add(finished_with(i, i, 1));
  EXPECT_EQ(log.size(), OutcomeLog::kMost);
  EXPECT_TRUE(log.made_by({SessionId(1), 0}).empty());
}

}  // namespace
}  // namespace muster::service
