#include "muster/engine/ops/sorting/run_pieces.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace muster::engine {

namespace {

constexpr Index kItems = 4 << 20;  // 32 MiB
// They overlap a little.
const std::vector<PieceRange> kRanges = {
    {0, 1'000'100}, {1'000'000, 2'000'000}, {1'999'900, 3'000'000}, {2'999'900, kItems}};

Array ones(Memory& memory) {
  Array run(memory, Type::u64, {kItems});
  std::fill_n(run.mutable_as<std::uint64_t>(), kItems, 1);
  return run;
}

bool all_ones(const Array& items) {
  return std::all_of(items.as<std::uint64_t>(), items.as<std::uint64_t>() + items.size(),
                     [](std::uint64_t item) { return item == 1; });
}

}  // namespace

TEST(RunPieces, TakeTheirPagesWithThemAndNoOthers) {
  const auto memory = Memory::make(1 << 30);
  Array run = ones(*memory);
  const auto* const items = run.as<std::uint64_t>();
  std::vector<Array> pieces = pieces_of(std::move(run), kRanges);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].size(), kRanges[i].end - kRanges[i].begin);
    EXPECT_TRUE(all_ones(pieces[i]));
  }
  pieces[1] = {};
  EXPECT_EQ(items[1'500'000], 0u) << "its pages are new ones";
  for (const std::size_t i : {0u, 2u, 3u}) EXPECT_TRUE(all_ones(pieces[i]));
}

TEST(RunPieces, LeaveARunAloneThatOthersShare) {
  const auto memory = Memory::make(1 << 30);
  const Array run = ones(*memory);
  pieces_of(run, kRanges).clear();
  EXPECT_TRUE(all_ones(run));
}

TEST(RunPieces, AreWhatTheRangesSayOfAFewItems) {
  const auto memory = Memory::make(1 << 20);
  Array run(*memory, Type::u64, {6});
  for (std::uint64_t i = 0; i < 6; ++i) run.mutable_as<std::uint64_t>()[i] = i;
  const std::vector<PieceRange> ranges = {{0, 2}, {1, 1}, {1, 4}, {4, 6}};
  const std::vector<Array> pieces = pieces_of(std::move(run), ranges);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    ASSERT_EQ(pieces[i].size(), ranges[i].end - ranges[i].begin);
    for (Index item = 0; item < pieces[i].size(); ++item)
      EXPECT_EQ(pieces[i].as<std::uint64_t>()[item],
                static_cast<std::uint64_t>(ranges[i].begin + item));
  }
}

}  // namespace muster::engine
