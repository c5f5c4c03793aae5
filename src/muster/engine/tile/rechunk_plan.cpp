#include "muster/engine/tile/rechunk_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// A piece of this size is moved as quickly as a larger one.
constexpr double kLargePiece = 64 * 1024;
constexpr int kMostSteps = 6;

double pieces_between(const Splits& from, const Splits& to) {
  double pieces = 1;
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    pieces *= static_cast<double>(common_split(from[axis], to[axis]).size());
  return pieces;
}

double items_of(const Splits& splits) {
  double items = 1;
  for (const auto& extents : splits)
    items *= static_cast<double>(std::accumulate(extents.begin(), extents.end(), Index{0}));
  return items;
}

double largest_chunk(const Splits& splits) {
  double items = 1;
  for (const auto& extents : splits)
    items *= static_cast<double>(*std::max_element(extents.begin(), extents.end()));
  return items;
}

/// Neighbours joined, so that `count` of about the same extent are left.
std::vector<Index> thinned(const std::vector<Index>& extents, std::size_t count) {
  const Index whole = std::accumulate(extents.begin(), extents.end(), Index{0});
  std::vector<Index> out;
  Index done = 0;
  Index open = 0;
  for (const Index extent : extents) {
    open += extent;
    const auto due = static_cast<double>(whole) * static_cast<double>(out.size() + 1) /
                     static_cast<double>(count);
    if (static_cast<double>(done + open) + 0.5 >= due && open > 0) {
      out.push_back(open);
      done += open;
      open = 0;
    }
  }
  if (open > 0 || out.empty()) out.push_back(open);
  return out;
}

Splits between(const Splits& from, const Splits& to, double way) {
  Splits out;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const auto a = static_cast<double>(from[axis].size());
    const auto b = static_cast<double>(to[axis].size());
    const auto count =
        static_cast<std::size_t>(std::lround(std::pow(a, 1 - way) * std::pow(b, way)));
    if (from[axis] == to[axis])
      out.push_back(to[axis]);
    else
      out.push_back(thinned(a > b ? from[axis] : to[axis], std::max<std::size_t>(1, count)));
  }
  return out;
}

}  // namespace

std::vector<Splits> plan_rechunk(const Splits& from, const Splits& to, std::size_t item_size,
                                 const RechunkLimits& limits) {
  const auto bytes = static_cast<double>(item_size);
  const auto harmless = [&](const Splits& a, const Splits& b) {
    const double pieces = pieces_between(a, b);
    const auto chunks = static_cast<double>(std::max(chunk_count(a), chunk_count(b)));
    return pieces <= limits.threshold * chunks || items_of(a) * bytes / pieces >= kLargePiece;
  };
  if (harmless(from, to)) return {to};
  const double most = std::max({static_cast<double>(limits.chunk_bytes),
                                largest_chunk(from) * bytes, largest_chunk(to) * bytes});
  std::vector<Splits> best = {to};
  double best_pieces = pieces_between(from, to);
  for (int steps = 2; steps <= kMostSteps; ++steps) {
    std::vector<Splits> plan;
    double pieces = 0;
    bool good = true;
    bool fits = true;
    for (int step = 1; step <= steps; ++step) {
      const Splits& before = plan.empty() ? from : plan.back();
      Splits next = step == steps ? to : between(from, to, static_cast<double>(step) / steps);
      good = good && harmless(before, next);
      fits = fits && largest_chunk(next) * bytes <= most;
      pieces += pieces_between(before, next);
      plan.push_back(std::move(next));
    }
    if (fits && pieces < best_pieces) {
      best = std::move(plan);
      best_pieces = pieces;
      if (good) break;
    }
  }
  return best;
}

}  // namespace muster::engine
