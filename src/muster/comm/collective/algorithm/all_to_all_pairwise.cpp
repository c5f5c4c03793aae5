// Pairwise all-to-all, for n ranks and large blocks. Blocks may differ in size.
//
// In step s = 1 … n-1 a rank sends to rank + s and receives from rank - s, so that every rank sends
// one block and receives one at a time. In place the two must be the same rank, because the block
// that arrives takes the place of the one that is sent: in step s = 0 … n-1 that is rank s - rank
// mod n, and the arriving block waits in scratch.
//
// Rounds: n - 1 (in place: n). Bytes sent: those of n - 1 blocks.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {
namespace {

Schedule in_place(const Call& call, const Place& place) {
  const auto [rank, n, hosts] = place;
  const Blocks all = blocks(call, n);
  const Region items = output(0, all.total());
  Builder builder;
  const Region arrival = builder.scratch(count_bytes(call));
  for (int step = 0; step < n; ++step) {
    const int partner = wrap(step - rank, n);
    if (partner == rank) continue;
    builder.round();
    builder.send(partner, block(items, all, partner));
    builder.receive(partner, arrival);
    builder.copy(block(items, all, partner), arrival);
  }
  return builder.take();
}

}  // namespace

Schedule all_to_all_pairwise(const Call& call, const Place& place) {
  if (call.in_place()) return in_place(call, place);
  const auto [rank, n, hosts] = place;
  const Blocks outgoing = blocks(call, n);
  const Blocks incoming = receive_blocks(call, n);
  const Region source = {Space::input, 0, outgoing.total()};
  const Region target = output(0, incoming.total());
  Builder builder;
  for (int step = 1; step < n; ++step) {
    builder.round();
    builder.send(wrap(rank + step, n), block(source, outgoing, wrap(rank + step, n)));
    builder.receive(wrap(rank - step, n), block(target, incoming, wrap(rank - step, n)));
    if (step == 1)
      builder.copy_meanwhile(block(target, incoming, rank), block(source, outgoing, rank));
  }
  return builder.take();
}

}  // namespace muster::comm::collective
