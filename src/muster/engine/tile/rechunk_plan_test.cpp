#include "muster/engine/tile/rechunk_plan.h"

#include <gtest/gtest.h>

#include "muster/engine/tile/chunking.h"

namespace muster::engine {
namespace {

TEST(RechunkPlan, GoesStraightWhenPiecesAreFewOrLarge) {
  const Splits few = {even_split(100, 10), {100}};
  const Splits fewer = {even_split(100, 20), {100}};
  EXPECT_EQ(plan_rechunk(few, fewer, 8, {}).size(), 1u);
  const Splits rows = {even_split(16'384, 256), {16'384}};
  const Splits columns = {{16'384}, even_split(16'384, 256)};
  EXPECT_EQ(plan_rechunk(rows, columns, 8, {}), std::vector<Splits>{columns});
}

TEST(RechunkPlan, TakesStepsWhenPiecesWouldBeManyAndSmall) {
  const Splits rows = {even_split(1'000, 1), {1'000}};
  const Splits columns = {{1'000}, even_split(1'000, 1)};
  const std::vector<Splits> plan = plan_rechunk(rows, columns, 8, {});
  ASSERT_GT(plan.size(), 1u);
  EXPECT_EQ(plan.back(), columns);
  for (const Splits& step : plan) {
    EXPECT_EQ(shape_of(step), (Shape{1'000, 1'000}));
    EXPECT_LT(chunk_count(step), 2'000u);
  }
}

TEST(RechunkPlan, MakesNoChunkLargerThanTheLimitOnTheWay) {
  const Splits rows = {even_split(1'000, 1), {1'000}};
  const Splits columns = {{1'000}, even_split(1'000, 1)};
  for (const Splits& step : plan_rechunk(rows, columns, 8, {.threshold = 4, .chunk_bytes = 16'000}))
    for_each_position(grid_of(step), [&](const Shape& position) {
      EXPECT_LE(volume(extents_at(step, position)) * 8, 16'000);
    });
}

}  // namespace
}  // namespace muster::engine
