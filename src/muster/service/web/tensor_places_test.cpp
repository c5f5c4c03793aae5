#include "muster/service/web/tensor_places.h"

#include <chrono>

#include <gtest/gtest.h>

namespace muster::service {
namespace {

using engine::SessionId;

const SessionId kOne(1);
const SessionId kTwo(2);
constexpr std::string_view kWorker = "a-worker-with-a-name-that-needs-memory-of-its-own";

/// `learned` orders them by age.
PlacesCache::Places places(std::size_t chunks, int learned) {
  auto made = std::make_shared<TensorPlaces>();
  made->learned = TimePoint(std::chrono::seconds(learned));
  made->chunks.resize(chunks);
  for (auto& chunk : made->chunks) chunk.workers = {std::string(kWorker)};
  return made;
}

TEST(PlacesCache, HoldsNoMoreBytesThanItMayWhateverTheirNumber) {
  constexpr std::size_t kMost = 100'000;
  ASSERT_GT(places(100, 0)->footprint(), 100 * kWorker.size());
  PlacesCache cache(kMost);
  for (int i = 0; i < 1000; ++i) {
    cache.keep(kOne, std::to_string(i), places(100, i));
    ASSERT_LE(cache.bytes(), kMost);
  }
  EXPECT_NE(cache.find(kOne, "999", {}), nullptr);
  EXPECT_EQ(cache.find(kOne, "0", {}), nullptr) << "the oldest go first";
}

TEST(PlacesCache, HoldsManyThatAreSmall) {
  PlacesCache cache;
  for (int i = 0; i < 1000; ++i) cache.keep(kOne, std::to_string(i), places(1, i));
  EXPECT_NE(cache.find(kOne, "0", {}), nullptr);
}

TEST(PlacesCache, HoldsTheNewestWhateverItsSize) {
  PlacesCache cache(1000);
  cache.keep(kOne, "small", places(1, 1));
  cache.keep(kOne, "large", places(1000, 2));
  EXPECT_NE(cache.find(kOne, "large", {}), nullptr);
  EXPECT_EQ(cache.find(kOne, "small", {}), nullptr);
  cache.keep(kOne, "next", places(1, 3));
  EXPECT_EQ(cache.find(kOne, "large", {}), nullptr);
  EXPECT_LE(cache.bytes(), 1000u);
}

TEST(PlacesCache, ForgetsWhatWasLearnedFirstWhenItWasKeptLast) {
  PlacesCache cache(3 * (places(100, 0)->footprint() + 500));
  cache.keep(kOne, "again", places(100, 1));
  cache.keep(kOne, "young", places(100, 5));
  cache.keep(kOne, "old", places(100, 2));
  cache.keep(kOne, "again", places(100, 6));
  cache.keep(kOne, "new", places(100, 7));
  EXPECT_EQ(cache.find(kOne, "old", {}), nullptr);
  cache.keep(kOne, "newest", places(100, 8));
  EXPECT_EQ(cache.find(kOne, "young", {}), nullptr);
  EXPECT_NE(cache.find(kOne, "again", {}), nullptr);
  EXPECT_NE(cache.find(kOne, "new", {}), nullptr);
}

TEST(PlacesCache, CountsNothingThatItForgot) {
  PlacesCache cache;
  cache.keep(kOne, "a", places(10, 1));
  cache.keep(kOne, "a", places(20, 2));
  cache.keep(kOne, "b", places(10, 3));
  cache.keep(kTwo, "a", places(10, 4));
  cache.forget(kOne, {"a", "never"});
  EXPECT_EQ(cache.find(kOne, "a", {}), nullptr);
  EXPECT_NE(cache.find(kOne, "b", {}), nullptr);
  cache.forget(kOne);
  EXPECT_EQ(cache.find(kOne, "b", {}), nullptr);
  EXPECT_NE(cache.find(kTwo, "a", {}), nullptr);
  cache.forget(kTwo);
  EXPECT_EQ(cache.bytes(), 0u);
}

}  // namespace
}  // namespace muster::service
