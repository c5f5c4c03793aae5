#include "muster/engine/ops/sorting/sort.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/ops/creation/ranges.h"
#include "muster/engine/session/session.h"

namespace muster::engine {

namespace {

/// So little that a task may have no more than 2048 numbers.
SessionOptions scarce() { return {.threads = 2, .memory = 2 * 4 * 2'048 * sizeof(double)}; }

enum class Made { random, few, equal, ascending, descending };

std::vector<double> items_of(Made made, std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> pick;
  std::vector<double> items(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double at = static_cast<double>(i);
    switch (made) {
      case Made::random: items[i] = pick(random); break;
      case Made::few: items[i] = std::round(pick(random)); break;
      case Made::equal: items[i] = 7; break;
      case Made::ascending: items[i] = at; break;
      case Made::descending: items[i] = -at; break;
    }
  }
  return items;
}

Tensor tensor_of(const std::vector<double>& items, Index chunk) {
  return constant(Array::copy_of(Type::f64, {static_cast<Index>(items.size())}, items.data()),
                  chunk);
}

bool before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

void expect_sorted(Session& session, const std::vector<double>& items, Index chunk) {
  const Tensor x = tensor_of(items, chunk);
  const Array got = session.fetch(sort(x));
  const Array places = session.fetch(argsort(x));
  std::vector<std::int64_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const double first = items[static_cast<std::size_t>(a)];
    const double second = items[static_cast<std::size_t>(b)];
    return before(first, second) || (!before(second, first) && a < b);
  });
  ASSERT_EQ(places.size(), static_cast<Index>(items.size()));
  for (std::size_t i = 0; i < items.size(); ++i) {
    const double wanted = items[static_cast<std::size_t>(order[i])];
    const double item = got.as<double>()[i];
    ASSERT_TRUE(item == wanted || (std::isnan(item) && std::isnan(wanted))) << i;
    ASSERT_EQ(places.as<std::int64_t>()[i], order[i]) << i;
  }
}

}  // namespace

TEST(Sort, OrdersManyRunsOfAnyItems) {
  Session session(scarce());
  for (const Made made : {Made::random, Made::few, Made::equal, Made::ascending, Made::descending})
    for (const Index chunk : {1'000, 7'000, 50'000})
      expect_sorted(session, items_of(made, 50'000, 3), chunk);
}

TEST(Sort, PutsNotANumberLastInManyRuns) {
  Session session(scarce());
  std::vector<double> items = items_of(Made::few, 30'000, 5);
  for (std::size_t i = 0; i < items.size(); i += 3)
    items[i] = std::numeric_limits<double>::quiet_NaN();
  expect_sorted(session, items, 1'500);
}

RC_GTEST_PROP(Sort, OrdersWhateverThereIs, ()) {
  Session session(scarce());
  const auto size = *rc::gen::inRange<std::size_t>(0, 20'000);
  const auto made = *rc::gen::element(Made::random, Made::few, Made::equal, Made::ascending);
  std::vector<double> items = items_of(made, size, *rc::gen::arbitrary<unsigned>());
  if (*rc::gen::arbitrary<bool>())
    for (std::size_t i = 0; i < items.size(); i += 7)
      items[i] = std::numeric_limits<double>::quiet_NaN();
  expect_sorted(session, items, *rc::gen::inRange<Index>(1'000, 9'000));
}

TEST(Sort, OrdersLongLanesOfSeveralAxes) {
  Session session(scarce());
  const Index length = 6'000;
  const std::vector<double> items = items_of(Made::random, 3 * 6'000 * 2, 9);
  const Array given = Array::copy_of(Type::f64, {3, length, 2}, items.data());
  const Array got = session.fetch(sort(constant(given, Ints{2, 2'500, 1}), 1));
  ASSERT_EQ(got.shape(), given.shape());
  for (Index row = 0; row < 3; ++row)
    for (Index column = 0; column < 2; ++column) {
      std::vector<double> lane;
      for (Index i = 0; i < length; ++i)
        lane.push_back(items[static_cast<std::size_t>((row * length + i) * 2 + column)]);
      std::sort(lane.begin(), lane.end());
      const Array sorted = got.slice({row, 0, column}, {1, length, 1}).contiguous(session.memory());
      ASSERT_TRUE(std::equal(lane.begin(), lane.end(), sorted.as<double>()));
    }
}

TEST(Sort, OfNoLanesHasChunksThatOthersCanRead) {
  Session session(scarce());
  const Array sums =
      session.fetch(apply_one("sum", {sort(zeros({0, 20'000}), 1)}, {{"axis", Ints{0}}}));
  ASSERT_EQ(sums.shape(), Shape{20'000});
  EXPECT_TRUE(std::all_of(sums.as<double>(), sums.as<double>() + sums.size(),
                          [](double item) { return item == 0; }));
}

TEST(Sort, LetsGoOfRunsWhereMemoryIsScarce) {
  const Index items = 1 << 20;
  const std::size_t bytes = static_cast<std::size_t>(items) * sizeof(double);
  Session session({.threads = 2, .memory = bytes / 4});
  // Made chunk by chunk, so that the items are not there besides.
  const Tensor sorted = sort(arange(items, 0, -1, Index{1 << 15}));
  session.execute(sorted);
  EXPECT_LT(session.memory().peak(), bytes + bytes / 2);
  const Array got = session.fetch(sorted);
  for (Index i = 0; i < items; ++i) ASSERT_EQ(got.as<std::int64_t>()[i], i + 1);
}

}  // namespace muster::engine
