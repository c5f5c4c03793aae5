// Linear allgather, for n ranks: every rank sends its block to all others at once. Blocks may
// differ in size.
//
// Rounds: 1. Bytes sent: n - 1 times the own block, in n - 1 messages.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

Schedule allgather_linear(const Call& call, const Place& place) {
  const auto [rank, n, hosts] = place;
  const Blocks all = blocks(call, n);
  const Region target = output(0, all.total());
  const Region own = block(target, all, rank);
  const Region source = call.in_place() ? own : Region{Space::input, 0, own.bytes};
  Builder builder;
  builder.round();
  for (int i = 1; i < n; ++i) {
    builder.send(wrap(rank + i, n), source);
    builder.receive(wrap(rank - i, n), block(target, all, wrap(rank - i, n)));
  }
  builder.copy_meanwhile(own, source);
  return builder.take();
}

}  // namespace muster::comm::collective
