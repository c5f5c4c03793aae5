#include "muster/engine/ops/sorting/unique.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/indexing/mask.h"
#include "muster/engine/ops/reduction/sum.h"
#include "muster/engine/session/session.h"

namespace muster::engine {

namespace {

std::vector<std::int64_t> random_items(std::size_t count, std::int64_t most) {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<std::int64_t> pick(0, most);
  std::vector<std::int64_t> items(count);
  std::generate(items.begin(), items.end(), [&] { return pick(random); });
  return items;
}

/// Those above `least`, of chunks whose sizes nobody knows.
Tensor filtered(const std::vector<std::int64_t>& items, std::int64_t least, Index chunk) {
  const Tensor x = constant(
      Array::copy_of(Type::i64, {static_cast<Index>(items.size())}, items.data()), Ints{chunk});
  return compress(x, apply_one("greater", {x, constant(Scalar(least))}), 0);
}

std::vector<std::int64_t> expected(std::vector<std::int64_t> items, std::int64_t least) {
  std::ranges::sort(items);
  items.erase(items.begin(), std::ranges::upper_bound(items, least));
  items.erase(std::unique(items.begin(), items.end()), items.end());
  return items;
}

std::vector<std::int64_t> found(Session& session, const Tensor& x) {
  const Array items = session.fetch(unique(x));
  return {items.as<std::int64_t>(), items.as<std::int64_t>() + items.size()};
}

}  // namespace

TEST(Unique, OfFilteredItemsDoesNotKeepThem) {
  constexpr std::size_t kCount = 1 << 20;
  const auto items = random_items(kCount, 1000);
  Session session({.threads = 2});
  session.memory().reset_peak();
  EXPECT_EQ(found(session, filtered(items, 500, 1 << 14)), expected(items, 500));
  EXPECT_LT(session.memory().peak(), kCount * sizeof(std::int64_t) / 4);
}

TEST(Unique, OfFilteredItemsIsCutWhereThereAreMany) {
  // More than one task joins.
  constexpr std::size_t kCount = 3 << 19;
  const auto items = random_items(kCount, std::int64_t{1} << 40);
  Session session({.threads = 2});
  EXPECT_EQ(found(session, filtered(items, 1'000'000, 1 << 15)), expected(items, 1'000'000));
}

TEST(Unique, OfMoreChunksThanAreTakenAsTheyCome) {
  const auto items = random_items(3000, 50);
  Session session({.threads = 2});
  EXPECT_EQ(found(session, filtered(items, 10, 5)), expected(items, 10));
}

TEST(Unique, OfFewerChunksThanThreads) {
  const auto items = random_items(3000, 50);
  Session session({.threads = 4});
  EXPECT_EQ(found(session, filtered(items, 10, 2000)), expected(items, 10));
}

TEST(Unique, OfNothingThatIsLeft) {
  const auto items = random_items(3000, 50);
  Session session({.threads = 2});
  EXPECT_TRUE(found(session, filtered(items, 50, 500)).empty());
}

TEST(Unique, LeavesFilteredItemsToOtherReaders) {
  const auto items = random_items(100'000, 1000);
  Session session({.threads = 2});
  const Tensor x = filtered(items, 500, 1 << 12);
  const Tensor different = unique(x);
  const Tensor total = sum(x);
  session.execute({different, total});
  std::int64_t wanted = 0;
  for (const std::int64_t item : items) wanted += item > 500 ? item : 0;
  EXPECT_EQ(*session.fetch(total).as<std::int64_t>(), wanted);
  EXPECT_EQ(session.fetch(different).size(), 500);
}

}  // namespace muster::engine
