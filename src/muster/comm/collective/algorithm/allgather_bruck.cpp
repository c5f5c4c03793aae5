// Bruck's allgather (1997), for n ranks and blocks of b bytes, for small b.
//
// A rank keeps the blocks from its own on: held[i] is that of rank + i mod n. In round k it has 2^k
// of them, sends them (or as many as are still missing) to rank - 2^k and receives as many from
// rank + 2^k. At the end they are put in the order of ranks.
//
// Rounds: ⌈log2 n⌉. Bytes sent: (n-1) · b, the least there is; and one more copy of all.

#include <algorithm>

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

Schedule allgather_bruck(const Call& call, const Place& place) {
  const auto [rank, n, hosts] = place;
  const Blocks all = blocks(call, n);
  const Region target = output(0, all.total());
  const Region own = block(target, all, rank);
  const Region source = call.in_place() ? own : Region{Space::input, 0, own.bytes};
  Builder builder;
  const Region held = builder.scratch(all.total());
  builder.round();
  builder.copy(block(held, all, 0), source);
  for (int have = 1; have < n; have *= 2) {
    const int more = std::min(have, n - have);
    builder.round();
    builder.send(wrap(rank - have, n), block(held, all, 0, more));
    builder.receive(wrap(rank + have, n), block(held, all, have, have + more));
  }
  builder.copy(block(target, all, rank, n), block(held, all, 0, n - rank));
  builder.copy(block(target, all, 0, rank), block(held, all, n - rank, n));
  return builder.take();
}

}  // namespace muster::comm::collective
