#pragma once

#include "muster/comm/collective/algorithm/teams.h"

namespace muster::comm::collective {

/// The ranks as they stand round a ring: in their order, but those of a host beside each other, so
/// that of what each sends to the next, only one message of a host leaves it.
class Ring {
 public:
  explicit Ring(const Place& place) : size_(place.size), self_(place.rank) {
    if (place.hosts.size() != static_cast<std::size_t>(place.size)) return;
    for (const Team& host : teams_of(place, -1).hosts)
      for (const int rank : host.ranks) {
        if (rank == place.rank) self_ = static_cast<int>(order_.size());
        order_.push_back(rank);
      }
  }

  [[nodiscard]] int size() const { return size_; }
  /// Who stands so many places ahead of this rank, or behind it where it is negative.
  [[nodiscard]] int rank(int ahead) const {
    const int place = wrap(self_ + ahead, size_);
    return order_.empty() ? place : order_[static_cast<std::size_t>(place)];
  }

 private:
  int size_;
  int self_;                // the place of this rank
  std::vector<int> order_;  // empty: by rank
};

}  // namespace muster::comm::collective
