// Ring allgather, for n ranks and m bytes in n blocks, for large m. Blocks may differ in size.
//
// In step s a rank sends block rank - s to the next rank, which it has received in the step before,
// and receives block rank - s - 1.
//
// Rounds: n - 1. Bytes sent: those of n - 1 blocks, the least there is.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

Schedule allgather_ring(const Call& call, const Place& place) {
  const auto [rank, n, hosts] = place;
  const Blocks all = blocks(call, n);
  const Region target = output(0, all.total());
  const Region own = block(target, all, rank);
  const Region source = call.in_place() ? own : Region{Space::input, 0, own.bytes};
  Builder builder;
  for (int step = 0; step < n - 1; ++step) {
    builder.round();
    builder.send(wrap(rank + 1, n), step == 0 ? source : block(target, all, wrap(rank - step, n)));
    builder.receive(wrap(rank - 1, n), block(target, all, wrap(rank - step - 1, n)));
    if (step == 0) builder.copy_meanwhile(own, source);
  }
  return builder.take();
}

}  // namespace muster::comm::collective
