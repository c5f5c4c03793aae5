#include "muster/engine/ops/sorting/rank_brackets.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "muster/engine/ops/sorting/runs.h"

namespace muster::engine {

namespace {

using Keys = std::vector<std::uint64_t>;

struct Sampled {
  std::vector<Keys> runs;
  std::vector<Keys> samples;
  std::vector<Index> sizes;
  Index step = 1;

  [[nodiscard]] Index total() const {
    return std::accumulate(sizes.begin(), sizes.end(), Index{0});
  }
};

std::vector<std::span<const std::uint64_t>> spans_of(const std::vector<Keys>& runs) {
  return {runs.begin(), runs.end()};
}

Sampled sampled(std::vector<Keys> runs, Index step) {
  Sampled out{std::move(runs), {}, {}, step};
  for (Keys& run : out.runs) {
    std::sort(run.begin(), run.end());
    Keys& samples = out.samples.emplace_back();
    for (std::size_t i = 0; i < run.size(); i += static_cast<std::size_t>(step))
      samples.push_back(run[i]);
    out.sizes.push_back(static_cast<Index>(run.size()));
  }
  return out;
}

/// The cuts of the runs themselves lie within the brackets, which are narrow.
void check(const Sampled& given, Index rank) {
  const RankBracket bracket =
      bracket_rank<std::uint64_t>(spans_of(given.samples), given.sizes, given.step, rank);
  const std::vector<Index> cuts = cut_runs<std::uint64_t>(spans_of(given.runs), rank);
  Index width = 0;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    RC_ASSERT(bracket.least[i] <= cuts[i]);
    RC_ASSERT(cuts[i] <= bracket.most[i]);
    RC_ASSERT(bracket.most[i] <= given.sizes[i]);
    width += bracket.most[i] - bracket.least[i];
  }
  RC_ASSERT(width < (2 * static_cast<Index>(cuts.size()) + 1) * given.step);
}

}  // namespace

RC_GTEST_PROP(RankBrackets, HoldTheExactCuts, ()) {
  const auto greatest = *rc::gen::element<std::uint64_t>(0, 2, 50, 1u << 30);
  const auto runs = *rc::gen::container<std::vector<Keys>>(
      rc::gen::container<Keys>(rc::gen::inRange<std::uint64_t>(0, greatest + 1)));
  if (runs.empty()) return;
  const Sampled given = sampled(runs, *rc::gen::inRange<Index>(1, 12));
  check(given, *rc::gen::inRange<Index>(0, given.total() + 1));
}

TEST(RankBrackets, AreNarrowWhenAllItemsAreEqual) {
  const Sampled given = sampled(std::vector<Keys>(4, Keys(1'000, 7)), 10);
  const RankBracket bracket =
      bracket_rank<std::uint64_t>(spans_of(given.samples), given.sizes, given.step, 2'000);
  // Of equal items those of earlier runs come first.
  EXPECT_GT(bracket.least[0], 900);
  EXPECT_GT(bracket.least[1], 900);
  EXPECT_LT(bracket.most[2], 100);
  EXPECT_EQ(bracket.most[3], 0);
}

}  // namespace muster::engine
