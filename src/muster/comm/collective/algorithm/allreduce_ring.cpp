// Ring allreduce, for n ranks and m bytes, for large m.
//
// The items are cut into n blocks. A reduce-scatter round the ring (ring_reduce.h) combines block r
// at rank r; then the blocks go round once more: in step s a rank sends block rank - s and receives
// block rank - s - 1. Every link carries the same load all the time.
//
// Rounds: 2 (n-1) · S, S the segments of a block. Bytes sent: 2m · (n-1)/n, the least there is.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/ring.h"
#include "muster/comm/collective/algorithm/ring_reduce.h"

namespace muster::comm::collective {

Schedule allreduce_ring(const Call& call, const Place& place) {
  const int n = place.size;
  const std::size_t bytes = count_bytes(call);
  const Blocks all =
      Blocks::split(call.count, static_cast<std::size_t>(n), item_size(call.element));
  const Region result = output(0, bytes);
  Builder builder;
  const Ring ring(place);
  RingReduce reduce(call, ring, all);
  reduce.build(builder, input(call, 0, bytes),
               [&](int /*step*/, int index) { return block(result, all, index); });
  for (int step = 0; step < n - 1; ++step) {
    const auto outgoing = reduce.segments_of(block(result, all, ring.rank(-step)));
    const auto incoming = reduce.segments_of(block(result, all, ring.rank(-step - 1)));
    for (std::size_t k = 0; k < outgoing.size(); ++k) {
      builder.round();
      builder.send(ring.rank(1), outgoing[k]);
      builder.receive(ring.rank(-1), incoming[k]);
      reduce.finish_meanwhile(builder);
    }
  }
  return builder.take();
}

}  // namespace muster::comm::collective
