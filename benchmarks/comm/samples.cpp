#include "samples.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace muster::bench {
namespace {

std::string spread(const Samples& samples) {
  return fmt::format("[{:.6g}, {:.6g}]", samples.lowest(), samples.highest());
}

}  // namespace

double percentile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto index = static_cast<std::size_t>(part * static_cast<double>(values.size()));
  return values[std::min(index, values.size() - 1)];
}

double Samples::median() const {
  std::vector<double> sorted = values_;
  return percentile(sorted, 0.5);
}

double Samples::lowest() const { return *std::min_element(values_.begin(), values_.end()); }

double Samples::highest() const { return *std::max_element(values_.begin(), values_.end()); }

void print(const Row& row) {
  const bool higher = row.better == Better::higher;
  const double ours = row.ours->median();
  const double peer = row.peer->median();
  fmt::print(
      R"({{"case": "{}", "size": {}, "ours": {:.6g}, "peer": {:.6g}, "peer_name": "{}", "unit": "{}", )"
      R"("better": "{}", "ratio": {:.4g}, "ours_spread": {}, "peer_spread": {}, "budget": {}}})"
      "\n",
      row.name, row.size, ours, peer, row.peer_name, row.unit, higher ? "higher" : "lower",
      higher ? ours / peer : peer / ours, spread(*row.ours), spread(*row.peer), row.budget);
  std::fflush(stdout);
}

}  // namespace muster::bench
