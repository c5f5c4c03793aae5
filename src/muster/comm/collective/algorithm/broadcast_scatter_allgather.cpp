// Broadcast as scatter and allgather (van de Geijn), for n ranks and m bytes, for large m.
//
// Ranks are numbered from the root on: v = rank - root mod n. The message is cut into n blocks.
// They are scattered down a binomial tree: v receives the blocks v … v + 2^k - 1, 2^k being its
// lowest bit, keeps the first half and passes the second on. Then the blocks go round in a ring: in
// step s, v sends block v - s to v + 1 and receives block v - s - 1. The root has everything, so
// nobody sends to it.
//
// Rounds: ⌈log2 n⌉ + n - 1. Bytes sent by a rank: at most 2m · (n-1)/n, against m · log2 n in the
// tree.

#include <algorithm>
#include <bit>

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

Schedule broadcast_scatter_allgather(const Call& call, const Place& place) {
  const int n = place.size;
  const int v = wrap(place.rank - call.root, n);
  const bool root = v == 0;
  const std::size_t bytes = count_bytes(call);
  const Blocks blocks =
      Blocks::split(call.count, static_cast<std::size_t>(n), item_size(call.element));
  const Region whole = root ? input(call, 0, bytes) : output(0, bytes);
  const auto rank_of = [&](int other) { return wrap(other + call.root, n); };

  Builder builder;
  const int lowest = root ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))) : v & -v;
  if (!root) {
    builder.round();
    builder.receive(rank_of(v - lowest), block(whole, blocks, v, std::min(v + lowest, n)));
  }
  for (int half = lowest / 2; half > 0; half /= 2) {
    if (v + half >= n) continue;
    builder.round();
    builder.send(rank_of(v + half), block(whole, blocks, v + half, std::min(v + 2 * half, n)));
  }
  for (int s = 0; s < n - 1; ++s) {
    builder.round();
    if (v != n - 1) builder.send(rank_of(v + 1), block(whole, blocks, wrap(v - s, n)));
    if (!root) builder.receive(rank_of(v - 1), block(whole, blocks, wrap(v - s - 1, n)));
    if (root && s == 0) builder.copy_meanwhile(output(0, bytes), whole);
  }
  return builder.take();
}

}  // namespace muster::comm::collective
