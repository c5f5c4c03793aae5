#include "muster/engine/session/session.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/creation/full.h"

namespace muster::engine {
namespace {

Tensor ramp(Index count, Attribute::Value chunk_size = {}) {
  std::vector<double> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), 0.0);
  return constant(Array::copy_of(Type::f64, {count}, items.data()), std::move(chunk_size));
}

TEST(Session, ComputesAChainWithItsClosingReduction) {
  Session session({.threads = 2});
  const Tensor x = ramp(10'000, std::int64_t{1'000});
  const Tensor y =
      apply_one("sum", {apply_one("add", {apply_one("multiply", {x, constant(Scalar(2.0))}), x})});
  EXPECT_EQ(*session.fetch(y).as<double>(), 3.0 * 9'999 * 10'000 / 2);
}

TEST(Session, GivesTheSameWithoutFusion) {
  Options options;
  options.disabled_passes = {"fuse_elementwise"};
  Session session({.threads = 2, .options = options});
  const Tensor x = ramp(10'000, std::int64_t{1'000});
  const Tensor y =
      apply_one("sum", {apply_one("add", {apply_one("multiply", {x, constant(Scalar(2.0))}), x})});
  EXPECT_EQ(*session.fetch(y).as<double>(), 3.0 * 9'999 * 10'000 / 2);
}

TEST(Session, ReducesEachAxis) {
  Session session({.threads = 2});
  std::vector<double> items(6 * 4);
  std::iota(items.begin(), items.end(), 0.0);
  const Tensor x = constant(Array::copy_of(Type::f64, {6, 4}, items.data()), Ints{4, 3});
  const Array rows = session.fetch(apply_one("sum", {x}, {{"axis", std::int64_t{0}}}));
  const Array columns =
      session.fetch(apply_one("sum", {x}, {{"axis", std::int64_t{-1}}, {"keepdims", true}}));
  ASSERT_EQ(rows.shape(), Shape{4});
  ASSERT_EQ(columns.shape(), (Shape{6, 1}));
  EXPECT_EQ(rows.as<double>()[1], 1 + 5 + 9 + 13 + 17 + 21);
  EXPECT_EQ(columns.as<double>()[2], 8 + 9 + 10 + 11);
}

TEST(Session, SaysWhichShapesDoNotBroadcast) {
  try {
    (void)apply_one("add", {ramp(3), ramp(4)});
    FAIL();
  } catch (const ArrayError& error) {
    EXPECT_STREQ(error.what(), "[add] shapes do not broadcast together: (3,) and (4,)");
  }
}

TEST(Session, KeepsToItsMemoryWithALongChainOfChunks) {
  Session session({.threads = 2, .memory = 64u << 20});
  const Tensor x = full({64, 1 << 20}, Scalar(1.0), Ints{1, 1 << 20});
  Options options;
  options.disabled_passes = {"fuse_elementwise"};
  const Tensor y = apply_one("sum", {apply_one("sin", {apply_one("add", {x, x})})});
  session.execute({y}, options);
  EXPECT_NEAR(*session.fetch(y).as<double>(), 64.0 * (1 << 20) * std::sin(2.0), 1e-3);
  EXPECT_LE(session.memory().peak(), 64u << 20);
}

TEST(Session, EndsWhileItTilesWhenNobodyWaitsForIt) {
  Session session({.threads = 1});
  const Tensor huge = full({100'000}, Scalar(1.0), Ints{1});
  RunControl cancelled;
  cancelled.cancel();
  EXPECT_THROW(session.execute({huge}, {}, &cancelled), ArrayError);
  EXPECT_EQ(cancelled.tasks, 0u) << "nothing was run";
  RunControl late;
  late.deadline = RunControl::Clock::now();
  EXPECT_THROW(session.execute({huge}, {}, &late), ArrayError);
  EXPECT_EQ(late.tasks, 0u);
  RunControl interrupted;
  interrupted.on_wait = [] { throw std::runtime_error("somebody pressed Ctrl-C"); };
  EXPECT_THROW(session.execute({huge}, {}, &interrupted), std::runtime_error);
  EXPECT_EQ(interrupted.tasks, 0u);
}

}  // namespace
}  // namespace muster::engine
