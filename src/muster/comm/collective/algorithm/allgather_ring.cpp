// Ring allgather, for n ranks and m bytes in n blocks, for large m. Blocks may differ in size.
//
// In step s a rank sends block rank - s to the next rank (ring.h), which it has received in the
// step before, and receives block rank - s - 1, counted round the ring.
//
// Rounds: n - 1. Bytes sent: those of n - 1 blocks, the least there is.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/ring.h"

namespace muster::comm::collective {

Schedule allgather_ring(const Call& call, const Place& place) {
  const Ring ring(place);
  const Blocks all = blocks(call, place.size);
  const Region target = output(0, all.total());
  const Region own = block(target, all, place.rank);
  const Region source = call.in_place() ? own : Region{Space::input, 0, own.bytes};
  Builder builder;
  for (int step = 0; step < place.size - 1; ++step) {
    builder.round();
    builder.send(ring.rank(1), step == 0 ? source : block(target, all, ring.rank(-step)));
    builder.receive(ring.rank(-1), block(target, all, ring.rank(-step - 1)));
    if (step == 0) builder.copy_meanwhile(own, source);
  }
  return builder.take();
}

}  // namespace muster::comm::collective
