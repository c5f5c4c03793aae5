// Linear all-to-all, for n ranks: all blocks are sent and received at once. Blocks may differ in
// size.
//
// Rounds: 1. Bytes sent: those of n - 1 blocks, in n - 1 messages.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

Schedule all_to_all_linear(const Call& call, const Place& place) {
  const auto [rank, n, hosts] = place;
  const Blocks outgoing = blocks(call, n);
  const Blocks incoming = receive_blocks(call, n);
  const Region target = output(0, incoming.total());
  Builder builder;
  Region source = {Space::input, 0, outgoing.total()};
  if (call.in_place()) {
    // What arrives would overwrite what has not been sent.
    source = builder.scratch(outgoing.total());
    builder.copy(source, target);
  }
  builder.round();
  for (int i = 1; i < n; ++i) {
    builder.send(wrap(rank + i, n), block(source, outgoing, wrap(rank + i, n)));
    builder.receive(wrap(rank - i, n), block(target, incoming, wrap(rank - i, n)));
  }
  if (!call.in_place())
    builder.copy_meanwhile(block(target, incoming, rank), block(source, outgoing, rank));
  return builder.take();
}

}  // namespace muster::comm::collective
