// Linear gather: every rank sends its block to the root, which takes them in any order. Blocks may
// differ in size.
//
// Rounds: 1. Bytes: n - 1 messages to the root, each block once.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

Schedule gather_linear(const Call& call, const Place& place) {
  Builder builder;
  builder.round();
  if (place.rank != call.root) {
    const auto rank = static_cast<std::size_t>(place.rank);
    const std::size_t own = call.counts.empty() ? call.count : call.counts[rank];
    builder.send(call.root, {Space::input, 0, own * item_size(call.element)});
    return builder.take();
  }
  const Blocks all = blocks(call, place.size);
  const Region target = output(0, all.total());
  for (int from = 0; from < place.size; ++from)
    if (from != place.rank) builder.receive(from, block(target, all, from));
  const Region own = block(target, all, place.rank);
  if (!call.in_place()) builder.copy_meanwhile(own, {Space::input, 0, own.bytes});
  return builder.take();
}

}  // namespace muster::comm::collective
