#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/ops/indexing/slice.h"
#include "muster/engine/ops/random/sample.h"
#include "muster/engine/optimise/fold_constants.h"
#include "muster/engine/optimise/fuse_elementwise.h"
#include "muster/engine/optimise/fuse_sources.h"
#include "muster/engine/optimise/plan.h"
#include "muster/engine/optimise/push_slices.h"
#include "muster/engine/optimise/remove_dead.h"
#include "muster/engine/optimise/share_subexpressions.h"
#include "muster/engine/session/options.h"
#include "muster/engine/session/session.h"

namespace muster::engine {
namespace {

Tensor ones(Shape shape = {4}) { return full(std::move(shape), Scalar(1.0)); }
Tensor add(const Tensor& a, const Tensor& b) { return apply_one("add", {a, b}); }
Tensor sin(const Tensor& a) { return apply_one("sin", {a}); }
Tensor sum(const Tensor& a) { return apply_one("sum", {a}); }

TEST(ShareSubexpressions, ComputesOnceWhatIsWrittenTwice) {
  const Tensor x = ones();
  Plan plan = make_plan({add(sin(x), sin(x))});
  EXPECT_EQ(share_subexpressions(plan), 1);
  EXPECT_EQ(remove_dead(plan), 1);
  EXPECT_EQ(plan.steps.size(), 3u);
}

TEST(ShareSubexpressions, TellsParametersApart) {
  const Tensor x = ones({4, 4});
  Plan plan = make_plan({apply_one("sum", {x}, {{"axis", std::int64_t{0}}}),
                         apply_one("sum", {x}, {{"axis", std::int64_t{1}}})});
  EXPECT_EQ(share_subexpressions(plan), 0);
}

TEST(FoldConstants, ComputesOperatorsOnNumbers) {
  const Tensor two = constant(Scalar(2.0));
  Plan plan = make_plan({add(ones(), add(two, two))});
  EXPECT_EQ(fold_constants(plan), 1);
}

TEST(FoldConstants, LeavesArraysAlone) {
  Plan plan = make_plan({add(ones(), ones())});
  EXPECT_EQ(fold_constants(plan), 0);
}

TEST(FuseElementwise, JoinsAChainWithTheReductionThatClosesIt) {
  const Tensor x = ones();
  Plan plan = make_plan({sum(add(sin(x), x))});
  EXPECT_EQ(fuse_elementwise(plan), 2);
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[1].row->name, "sum");
}

TEST(FuseElementwise, KeepsWhatSomebodyElseReads) {
  const Tensor s = sin(ones());
  Plan plan = make_plan({add(s, s), s});
  EXPECT_EQ(fuse_elementwise(plan), 0);
}

TEST(FuseElementwise, JoinsWhatAllItsReadersOfOneChainShare) {
  const Tensor s = sin(ones());
  Plan plan = make_plan({add(add(s, s), s)});
  EXPECT_EQ(fuse_elementwise(plan), 2);
}

TEST(FuseElementwise, DoesNotRepeatWorkForWhatIsBroadcast) {
  Plan plan = make_plan({add(sin(ones({4})), ones({8, 4}))});
  EXPECT_EQ(fuse_elementwise(plan), 0);
}

TEST(FuseSources, MakesRandomNumbersWhereTheyAreRead) {
  const Tensor x = random::uniform({40, 30}, 1);
  const Tensor y = random::uniform({40, 30}, 2);
  Plan plan = make_plan({sum(add(apply_one("multiply", {x, x}), y))});
  EXPECT_EQ(fuse_elementwise(plan), 2);
  EXPECT_EQ(fuse_sources(plan), 2);
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_TRUE(plan.steps[0].inputs.empty());
}

TEST(FuseSources, LeavesNumbersThatSeveralRead) {
  const Tensor x = random::uniform({40}, 1);
  for (const auto& results : {std::vector{sum(x), sin(x)}, std::vector{sum(x), x}}) {
    Plan plan = make_plan(results);
    EXPECT_EQ(fuse_sources(plan), 0);
  }
}

TEST(FuseSources, LeavesNumbersThatAreBroadcastOrWhoseParametersAreArrays) {
  Plan broadcast = make_plan({add(random::uniform({4}, 1), ones({8, 4}))});
  EXPECT_EQ(fuse_sources(broadcast), 0);
  const Tensor differing = random::sample("random.uniform", {ones({4}), constant(Scalar(2.0))},
                                          {.key = 1, .size = {}, .chunk_size = {}});
  Plan plan = make_plan({sum(differing)});
  EXPECT_EQ(fuse_sources(plan), 0);
}

/// What is made of random numbers in these ways, with the pass and without it.
std::vector<Tensor> made_of_random_numbers(Attribute::Value chunk_size) {
  const auto drawn = [&](std::string_view name, std::vector<Tensor> numbers, std::uint64_t key) {
    return random::sample(name, std::move(numbers),
                          {.key = key, .size = Shape{70, 5, 9}, .chunk_size = chunk_size});
  };
  const auto uniform = [&](std::uint64_t key) {
    return drawn("random.uniform", {constant(Scalar(-1.0)), constant(Scalar(1.0))}, key);
  };
  const Tensor array = full({5, 9}, Scalar(3.0), Ints{2, 4});
  const Tensor whole = drawn(
      "random.integers", {constant(Scalar(std::int64_t{3})), constant(Scalar(std::int64_t{9}))}, 5);
  const Tensor x = uniform(1);
  return {sum(uniform(2)),
          add(uniform(3), array),
          apply_one("sum", {apply_one("multiply", {x, x})}, {{"axis", std::int64_t{2}}}),
          apply_one("argmax", {uniform(4)}, {{"axis", Ints{0}}}),
          sin(drawn("random.poisson", {constant(Scalar(4.0))}, 6)),
          apply_one("max", {add(whole, uniform(7))}, {{"axis", Ints{0, 2}}})};
}

TEST(FuseSources, GivesTheSameItems) {
  Options off;
  off.disabled_passes = {"fuse_sources"};
  Session session({.threads = 2, .memory = 64u << 20});
  for (const Attribute::Value& chunk_size :
       {Attribute::Value(), Attribute::Value(std::int64_t{4}), Attribute::Value(Ints{33, 5, 2})}) {
    const std::vector<Tensor> with = made_of_random_numbers(chunk_size);
    const std::vector<Tensor> without = made_of_random_numbers(chunk_size);
    session.execute(with);
    session.execute(without, off);
    for (std::size_t i = 0; i < with.size(); ++i) {
      const Array got = session.fetch(with[i]).contiguous(session.memory());
      const Array expected = session.fetch(without[i]).contiguous(session.memory());
      ASSERT_EQ(got.shape(), expected.shape());
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.nbytes()), 0) << i;
    }
  }
}

TEST(FuseSources, IsNotForThoseWhoWriteGraphs) {
  EXPECT_THROW((void)apply_one("sum", {ones()}, {{"sources", List{}}}), ArrayError);
  EXPECT_THROW((void)apply_one("sin", {ones()}, {{"sources", List{}}}), ArrayError);
}

TEST(PushSlices, MovesASlicePastElementWiseOperatorsToTheirInputs) {
  const Tensor x = ones({8, 4});
  Plan plan = make_plan({slice(sin(add(x, ones({4}))), {{2, 4, 1}})});
  EXPECT_EQ(push_slices(plan), 2);
  const PlanStep& last = plan.steps[plan.results.front().step];
  EXPECT_EQ(last.row->name, "sin");
  EXPECT_EQ(last.outputs.front().shape, (Shape{2, 4}));
}

TEST(PushSlices, GivesTheSameItems) {
  std::vector<double> items(24);
  std::iota(items.begin(), items.end(), 0.0);
  const Tensor x = constant(Array::copy_of(Type::f64, {6, 4}, items.data()), Ints{2, 3});
  const Tensor column = constant(Array::copy_of(Type::f64, {6, 1}, items.data()), Ints{4, 1});
  Options off;
  for (const Pass& pass : passes()) off.disabled_passes.emplace(pass.name);
  for (const bool optimised : {true, false}) {
    Session session({.threads = 2, .memory = 1u << 20});
    const Tensor y = apply_one(
        "slice", {add(x, column)},
        {{"start", Ints{4, 2}}, {"stop", Ints{0, 3}}, {"step", Ints{-2, 1}}, {"items", Ints{1}}});
    session.execute({y}, optimised ? Options() : off);
    const Array got = session.fetch(y);
    ASSERT_EQ(got.shape(), Shape{2});
    const Array whole = got.contiguous(session.memory());
    EXPECT_EQ(whole.as<double>()[0], 18 + 4);
    EXPECT_EQ(whole.as<double>()[1], 10 + 2);
  }
}

TEST(PushSlices, LeavesWhatOthersReadWhole) {
  const Tensor s = sin(ones({8}));
  Plan plan = make_plan({slice(s, {{0, 2, 1}}), s});
  EXPECT_EQ(push_slices(plan), 0);
}

TEST(RemoveDead, LeavesWhatIsRead) {
  Plan plan = make_plan({add(ones(), ones())});
  EXPECT_EQ(remove_dead(plan), 0);
}

TEST(Optimise, LeavesOutWhatIsSwitchedOff) {
  const Tensor x = ones();
  for (const Pass& pass : passes()) {
    Plan plan = make_plan({sum(add(sin(x), x))});
    Options options;
    options.disabled_passes = {std::string(pass.name)};
    for (const PassReport& report : optimise(plan, options)) EXPECT_NE(report.name, pass.name);
  }
}

}  // namespace
}  // namespace muster::engine
