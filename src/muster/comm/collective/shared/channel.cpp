#include "muster/comm/collective/shared/channel.h"

#include <algorithm>

namespace muster::comm::collective::shared {

Channel::Channel(Segment& segment, std::size_t index, const std::function<void()>* at_step)
    : segment_(segment),
      at_step_(at_step),
      own_(&segment.control(segment.rank()).channels[index]),
      own_staging_(segment.staging(segment.rank(), index)) {
  for (int rank = 0; rank < segment.ranks(); ++rank)
    peers_.push_back({&segment.control(rank).channels[index], segment.staging(rank, index)});
  for (std::size_t kind = 0; kind < kLoanKinds; ++kind) contests_[kind] = Contest::of(kind);
}

void Channel::look_who_finished() {
  std::uint64_t least = UINT64_MAX;
  for (int rank = 0; rank < ranks(); ++rank) {
    // Who has left reads nothing any more.
    if (segment_.has_left(rank)) continue;
    const auto& done = peers_[static_cast<std::size_t>(rank)].control->done;
    least = std::min(least, done.steps.load(std::memory_order_acquire));
  }
  know_finished(least);
}

}  // namespace muster::comm::collective::shared
