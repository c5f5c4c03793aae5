#include "muster/engine/ops/statistics/ranks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace muster::engine {

namespace {

constexpr std::array<std::string_view, 14> kNames = {"inverted_cdf",
                                                     "averaged_inverted_cdf",
                                                     "closest_observation",
                                                     "interpolated_inverted_cdf",
                                                     "hazen",
                                                     "weibull",
                                                     "linear",
                                                     "median_unbiased",
                                                     "normal_unbiased",
                                                     "lower",
                                                     "higher",
                                                     "midpoint",
                                                     "nearest",
                                                     "median"};

Rank at(double place, Index n) {
  const auto exact = static_cast<Index>(std::clamp(place, 0.0, static_cast<double>(n - 1)));
  return {exact, exact, 0};
}

/// A place that need not be whole: the items around it.
Rank around(double place, Index n) {
  if (place >= static_cast<double>(n - 1)) return {n - 1, n - 1, 0};
  if (place < 0) return {0, 0, 0};
  const double before = std::floor(place);
  return {static_cast<Index>(before), static_cast<Index>(before) + 1, place - before};
}

/// Hyndman and Fan's family of places, by its two parameters.
double place_by(double n, double q, double alpha, double beta) {
  return n * q + (alpha + q * (1 - alpha - beta)) - 1;
}

Rank step_after(double place, Index n, bool stay) {
  return at(stay ? std::floor(place) : std::floor(place) + 1, n);
}

Rank averaged(double place, Index n) {
  Rank rank = around(place, n);
  rank.share = place == std::floor(place) ? 0.5 : 1.0;
  return rank;
}

}  // namespace

std::optional<QuantileMethod> quantile_method_named(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<QuantileMethod>(found - kNames.begin());
}

bool is_discrete(QuantileMethod method) {
  switch (method) {
    case QuantileMethod::inverted_cdf:
    case QuantileMethod::closest_observation:
    case QuantileMethod::lower:
    case QuantileMethod::higher:
    case QuantileMethod::nearest: return true;
    default: return false;
  }
}

Rank rank_of(QuantileMethod method, Index n, double q) {
  const auto count = static_cast<double>(n);
  const double linear = (count - 1) * q;
  switch (method) {
    case QuantileMethod::inverted_cdf: {
      const double place = count * q - 1;
      return step_after(place, n, place == std::floor(place));
    }
    case QuantileMethod::averaged_inverted_cdf: return averaged(count * q - 1, n);
    case QuantileMethod::closest_observation: {
      const double place = count * q - 1.5;
      const double whole = std::floor(place);
      // Halves go to the even order, counted from one.
      return step_after(place, n, place == whole && std::fmod(std::abs(whole), 2.0) == 1.0);
    }
    case QuantileMethod::interpolated_inverted_cdf: return around(place_by(count, q, 0, 1), n);
    case QuantileMethod::hazen: return around(place_by(count, q, 0.5, 0.5), n);
    case QuantileMethod::weibull: return around(place_by(count, q, 0, 0), n);
    case QuantileMethod::median_unbiased: return around(place_by(count, q, 1 / 3.0, 1 / 3.0), n);
    case QuantileMethod::normal_unbiased: return around(place_by(count, q, 3 / 8.0, 3 / 8.0), n);
    case QuantileMethod::lower: return at(std::floor(linear), n);
    case QuantileMethod::higher: return at(std::ceil(linear), n);
    case QuantileMethod::nearest: return at(std::nearbyint(linear), n);
    case QuantileMethod::midpoint: {
      const Rank between{static_cast<Index>(std::floor(linear)),
                         static_cast<Index>(std::ceil(linear)), 0.5};
      return between.before == between.after ? at(linear, n) : between;
    }
    case QuantileMethod::median: return {(n - 1) / 2, n / 2, 0.5};
    case QuantileMethod::linear: break;
  }
  return around(linear, n);
}

}  // namespace muster::engine
