// Ring reduce-scatter, for n ranks and m bytes in n blocks, for large m. Blocks may differ in size.
//
// See ring_reduce.h. What a step has combined the next one sends, so two blocks of scratch do.
//
// Rounds: (n-1) · S, S the segments of the largest block. Bytes sent: those of n - 1 blocks, the
// least there is.

#include <algorithm>

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/ring_reduce.h"

namespace muster::comm::collective {

Schedule reduce_scatter_ring(const Call& call, const Place& place) {
  const int n = place.size;
  const Blocks all = blocks(call, n);
  std::size_t largest = 0;
  for (std::size_t i = 0; i < all.size(); ++i) largest = std::max(largest, all.bytes(i));
  Builder builder;
  const Region held[] = {builder.scratch(largest), builder.scratch(largest)};
  const Region target = output(0, all.bytes(static_cast<std::size_t>(place.rank)));
  const Ring ring(place);
  RingReduce reduce(call, ring, all);
  reduce.build(builder, input(call, 0, all.total()), [&](int step, int index) {
    // In place, the output overlaps the blocks that are still read.
    if (step == n - 2 && !call.in_place()) return target;
    return held[step % 2].part(0, all.bytes(static_cast<std::size_t>(index)));
  });
  reduce.finish(builder);
  if (call.in_place()) builder.copy(target, held[(n - 2) % 2].part(0, target.bytes));
  return builder.take();
}

}  // namespace muster::comm::collective
