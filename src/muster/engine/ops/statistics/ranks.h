#pragma once

#include <optional>
#include <string_view>

#include "muster/engine/value/shape.h"

namespace muster::engine {

/// How NumPy's methods find a quantile among sorted items.
enum class QuantileMethod {
  inverted_cdf,
  averaged_inverted_cdf,
  closest_observation,
  interpolated_inverted_cdf,
  hazen,
  weibull,
  linear,
  median_unbiased,
  normal_unbiased,
  lower,
  higher,
  midpoint,
  nearest,
  median  ///< the middle item, or the mean of the two in the middle
};

[[nodiscard]] std::optional<QuantileMethod> quantile_method_named(std::string_view name);
/// The answer is one of the items, never between two.
[[nodiscard]] bool is_discrete(QuantileMethod method);

/// Between which two of `n` sorted items a quantile is, and how far from the first to the second.
struct Rank {
  Index before = 0;
  Index after = 0;
  double share = 0;
};
/// `n` is positive; `q` from 0 to 1.
[[nodiscard]] Rank rank_of(QuantileMethod method, Index n, double q);

}  // namespace muster::engine
