#include "muster/comm/collective/shared/counts.h"

namespace muster::comm::collective::shared {
namespace {

std::size_t largest(const std::vector<std::size_t>& counts) {
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

}  // namespace

bool Variable::agree() {
  switch (call_.operation) {
    case collective::Operation::scatter: return agree_on_scatter();
    case collective::Operation::gather: return agree_on_gather();
    default: return agree_on_all_to_all();
  }
}

bool Variable::agree_on_scatter() {
  const auto& counts = counts_.plan().rows[static_cast<std::size_t>(call_.root)];
  const std::size_t given = counts[static_cast<std::size_t>(channel_.rank())];
  const bool root = channel_.rank() == call_.root;
  if (!root && !expect(call_.root, given, call_.count)) return false;
  const std::size_t item = item_size(call_.element);
  blocks_ = std::make_unique<Stepped<Scatter>>(channel_, call_, BlockMap(counts, item),
                                               given * item, largest(counts) * item, false);
  return true;
}

bool Variable::agree_on_gather() {
  std::vector<std::size_t> counts;
  for (const auto& row : counts_.plan().rows) counts.push_back(row.front());
  if (channel_.rank() == call_.root) {
    for (int rank = 0; rank < channel_.ranks(); ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      if (!expect(rank, counts[at], call_.counts[at])) return false;
    }
  }
  blocks_ = std::make_unique<Stepped<Gather>>(channel_, call_,
                                              BlockMap(counts, item_size(call_.element)), false);
  return true;
}

bool Variable::agree_on_all_to_all() {
  const auto& rows = counts_.plan().rows;
  std::size_t most = 0;
  for (int rank = 0; rank < channel_.ranks(); ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (!expect(rank, rows[at][static_cast<std::size_t>(channel_.rank())],
                call_.receive_counts[at]))
      return false;
    most = std::max(most, largest(rows[at]));
  }
  const std::size_t item = item_size(call_.element);
  blocks_ =
      std::make_unique<Stepped<AllToAll>>(channel_, call_, BlockMap(call_.counts, item),
                                          BlockMap(call_.receive_counts, item), most * item, false);
  return true;
}

}  // namespace muster::comm::collective::shared
