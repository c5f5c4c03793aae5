#include "muster/engine/ops/sorting/rank_brackets.h"

#include <algorithm>

#include "muster/engine/ops/sorting/runs.h"

namespace muster::engine {

template <class T>
RankBracket bracket_rank(const std::vector<std::span<const T>>& samples,
                         std::span<const Index> sizes, Index step, Index rank) {
  const auto runs = static_cast<Index>(samples.size());
  Index all = 0;
  for (const auto& each : samples) all += static_cast<Index>(each.size());
  const Index before = std::min(all, sample_count(rank, step));
  const Index behind = std::min(all, sample_count(rank + runs * (step - 1), step));
  RankBracket bracket{cut_runs<T>(samples, before), cut_runs<T>(samples, behind)};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Index& least = bracket.least[i];
    Index& most = bracket.most[i];
    least = least > 0 ? (least - 1) * step + 1 : 0;
    most = std::min(sizes[i], most * step);
  }
  return bracket;
}

#define MUSTER_KEYS(T)                                                                 \
  template RankBracket bracket_rank<T>(const std::vector<std::span<const T>>& samples, \
                                       std::span<const Index> sizes, Index step, Index rank);
MUSTER_FOR_KEYS(MUSTER_KEYS)
#undef MUSTER_KEYS

}  // namespace muster::engine
