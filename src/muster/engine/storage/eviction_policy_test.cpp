#include "muster/engine/storage/eviction_policy.h"

#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "muster/engine/storage/storage_testing.h"

namespace muster::engine {
namespace {

constexpr std::size_t kMB = 1'000'000;

std::vector<ChunkKey> keys(const std::vector<Eviction>& victims) {
  std::vector<ChunkKey> all;
  for (const auto& victim : victims) all.push_back(victim.key);
  return all;
}

TEST(EvictionPolicy, TakesTheLongestUnusedWhenAllCostTheSame) {
  EvictionPolicy policy;
  policy.add(kA, kMB, 0, false);
  policy.add(kB, kMB, 0, false);
  policy.add(kC, kMB, 0, false);
  policy.touch(kA);
  EXPECT_EQ(keys(policy.make_room(2 * kMB, MaySpill::yes)), (std::vector{kB, kC}));
}

TEST(EvictionPolicy, KeepsWhatTookLongToMake) {
  EvictionPolicy policy;
  policy.add(kA, kMB, 0.1, false);
  policy.add(kB, kMB, 0, false);
  EXPECT_EQ(keys(policy.make_room(1, MaySpill::yes)), (std::vector{kB}));
}

TEST(EvictionPolicy, LetsEvenTheDearestGoWhenItIsNotUsedForLong) {
  EvictionPolicy policy;
  policy.add(kA, kMB, 1e9, false);
  int rounds = 0;
  for (std::uint64_t i = 0; policy.contains(kA) && i < 1000; ++i, ++rounds) {
    policy.add({2, i}, kMB, 0, false);
    static_cast<void>(policy.make_room(kMB, MaySpill::yes));
  }
  EXPECT_FALSE(policy.contains(kA));
  EXPECT_GT(rounds, 10);
}

TEST(EvictionPolicy, NeverTakesWhatIsPinned) {
  EvictionPolicy policy;
  policy.add(kA, kMB, 0, false);
  policy.add(kB, kMB, 0, false);
  policy.pin(kA);
  policy.touch(kA);
  EXPECT_EQ(keys(policy.make_room(2 * kMB, MaySpill::yes)), (std::vector{kB}));
  policy.unpin(kA);
  EXPECT_EQ(keys(policy.make_room(2 * kMB, MaySpill::yes)), (std::vector{kA}));
}

TEST(EvictionPolicy, PrefersWhatNeedsNoWriting) {
  EvictionPolicy policy;
  policy.add(kA, kMB, 0, false);
  policy.add(kB, kMB, 0, true);
  const auto victims = policy.make_room(1, MaySpill::yes);
  EXPECT_EQ(victims, (std::vector{Eviction{Eviction::Kind::forget, kB, kMB}}));
}

TEST(EvictionPolicy, TakesOnlyWhatIsOnDiskWhenNothingMayBeWritten) {
  EvictionPolicy policy;
  policy.add(kA, kMB, 0, false);
  policy.add(kB, kMB, 1, true);
  EXPECT_EQ(keys(policy.make_room(2 * kMB, MaySpill::no)), (std::vector{kB}));
  EXPECT_TRUE(policy.contains(kA));
}

TEST(EvictionPolicy, TakesAVictimThatStayedFirstTheNextTime) {
  EvictionPolicy policy;
  policy.add(kA, kMB, 5, false);
  EXPECT_EQ(policy.make_room(1, MaySpill::yes).size(), 1u);
  policy.add(kB, kMB, 0, false);
  policy.put_back(kA, kMB, 5, true);
  EXPECT_EQ(keys(policy.make_room(1, MaySpill::yes)), (std::vector{kA}));
}

TEST(EvictionPolicy, TakesWhatIsExpectedAfterAllOthers) {
  EvictionPolicy policy;
  policy.expect(kA);  // before it is here
  policy.add(kA, kMB, 0, true);
  policy.add(kB, kMB, 100, false);
  policy.add(kC, kMB, 0, false);
  policy.expect(kC);
  policy.expect(kC);
  policy.unexpect(kC);
  EXPECT_EQ(keys(policy.make_room(2 * kMB, MaySpill::yes)), (std::vector{kB, kA}));
  policy.add(kB, kMB, 100, false);
  policy.unexpect(kC);
  EXPECT_EQ(keys(policy.make_room(1, MaySpill::yes)), (std::vector{kC}));
}

struct Model {
  std::size_t bytes = 0;
  bool on_disk = false;
  bool pinned = false;
};

RC_GTEST_PROP(EvictionPolicy, FindsTheRoomThatCanBeFoundAndNothingPinned, ()) {
  EvictionPolicy policy;
  std::map<ChunkKey, Model> model;
  const int steps = *rc::gen::inRange(0, 200);
  for (int i = 0; i < steps; ++i) {
    const ChunkKey key{0, *rc::gen::inRange<std::uint64_t>(0, 12)};
    const auto known = model.find(key);
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
      case 1:
        if (known == model.end()) {
          const Model made{*rc::gen::inRange<std::size_t>(0, 1000), *rc::gen::arbitrary<bool>()};
          policy.add(key, made.bytes, *rc::gen::inRange(0, 10) * 1e-6, made.on_disk);
          model.emplace(key, made);
        }
        break;
      case 2: policy.touch(key); break;
      case 3:
        if (known != model.end()) {
          known->second.pinned = !known->second.pinned;
          known->second.pinned ? policy.pin(key) : policy.unpin(key);
        }
        break;
      case 4:
        policy.remove(key);
        model.erase(key);
        break;
      default: {
        const auto bytes = *rc::gen::inRange<std::size_t>(0, 3000);
        const bool may_spill = *rc::gen::arbitrary<bool>();
        std::size_t found = 0;
        for (const auto& victim : policy.make_room(bytes, MaySpill{may_spill})) {
          const auto gone = model.find(victim.key);
          RC_ASSERT(gone != model.end());
          RC_ASSERT(!gone->second.pinned);
          RC_ASSERT(gone->second.bytes == victim.bytes);
          RC_ASSERT(gone->second.on_disk == (victim.kind == Eviction::Kind::forget));
          RC_ASSERT(may_spill || gone->second.on_disk);
          RC_ASSERT(found < bytes);
          found += std::max<std::size_t>(victim.bytes, 1);
          model.erase(gone);
        }
        const bool more = std::any_of(model.begin(), model.end(), [&](const auto& left) {
          return !left.second.pinned && (may_spill || left.second.on_disk);
        });
        RC_ASSERT(found >= bytes || !more);
      }
    }
    RC_ASSERT(policy.size() == model.size());
  }
}

}  // namespace
}  // namespace muster::engine
