// Linear scatter: the root sends every rank its block, all at once. Blocks may differ in size.
//
// Rounds: 1. Bytes: n - 1 messages from the root, each block once.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

Schedule scatter_linear(const Call& call, const Place& place) {
  Builder builder;
  builder.round();
  if (place.rank != call.root) {
    const auto rank = static_cast<std::size_t>(place.rank);
    const std::size_t own = call.counts.empty() ? call.count : call.counts[rank];
    builder.receive(call.root, output(0, own * item_size(call.element)));
    return builder.take();
  }
  const Blocks all = blocks(call, place.size);
  const Region source = input(call, 0, all.total());
  // Not all begin with rank 0.
  for (int i = 1; i < place.size; ++i) {
    const int to = wrap(place.rank + i, place.size);
    builder.send(to, block(source, all, to));
  }
  const Region own = block(source, all, place.rank);
  if (!call.in_place()) builder.copy_meanwhile(output(0, own.bytes), own);
  return builder.take();
}

}  // namespace muster::comm::collective
