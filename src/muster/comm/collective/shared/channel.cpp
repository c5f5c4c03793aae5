#include "muster/comm/collective/shared/channel.h"

#include <algorithm>
#include <utility>

namespace muster::comm::collective::shared {

static_assert(kLoanKinds == kOperations.size() * kLoanSizes);

Channel::Channel(Segment& segment, std::size_t index, Duration lease, bool may_lend,
                 const std::function<void()>* at_step, Ways ways)
    : segment_(segment),
      may_lend_(may_lend),
      at_step_(at_step),
      own_(&segment.control(segment.rank()).channels[index]),
      own_staging_(segment.staging(segment.rank(), index)),
      lease_(lease),
      ways_(std::move(ways)) {
  for (int rank = 0; rank < segment.ranks(); ++rank)
    peers_.push_back({&segment.control(rank).channels[index], segment.staging(rank, index)});
  for (std::size_t kind = 0; kind < kLoanKinds; ++kind) {
    contests_[kind] = Contest::of(kind, may_lend);
    agreed_[kind] = usual_way(kind, may_lend);
  }
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

int Channel::who_has_not_finished(std::uint64_t position) const {
  for (int other = 0; other < ranks(); ++other)
    if (other != rank() && !has_finished(other, position)) return other;
  return -1;
}

int Channel::who_takes_room(std::uint64_t position, bool staged) const {
  const std::uint64_t ahead = staged ? slots_ahead(position) : kRing;
  return position < ahead ? -1 : who_has_not_finished(position + 1 - ahead);
}

}  // namespace muster::comm::collective::shared
