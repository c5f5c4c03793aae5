// Bruck's all-to-all (1997), for n ranks and blocks of b bytes, for small b and many ranks.
//
// held[i] is the block that must still travel i ranks on; at first that is the one for rank + i. In
// round k all held[i] with bit k in i go to rank + 2^k in one message, and those of rank - 2^k take
// their places. At the end held[i] is the block from rank - i.
//
// Rounds: ⌈log2 n⌉. Bytes sent: about n/2 · b per round: more than with pairwise, in fewer
// messages.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

Schedule all_to_all_bruck(const Call& call, const Place& place) {
  const auto [rank, n, hosts] = place;
  const Blocks all = blocks(call, n);
  const Region source = input(call, 0, all.total());
  const Region target = output(0, all.total());
  Builder builder;
  const Region held = builder.scratch(all.total());
  const Region packed = builder.scratch(all.total());
  const Region arrived = builder.scratch(all.total());
  builder.round();
  builder.copy(block(held, all, 0, n - rank), block(source, all, rank, n));
  builder.copy(block(held, all, n - rank, n), block(source, all, 0, rank));
  for (int bit = 1; bit < n; bit *= 2) {
    std::vector<int> travel;
    for (int i = 0; i < n; ++i)
      if ((i & bit) != 0) travel.push_back(i);
    const int moved = static_cast<int>(travel.size());
    for (int i = 0; i < moved; ++i)
      builder.copy(block(packed, all, i), block(held, all, travel[static_cast<std::size_t>(i)]));
    builder.round();
    builder.send(wrap(rank + bit, n), block(packed, all, 0, moved));
    builder.receive(wrap(rank - bit, n), block(arrived, all, 0, moved));
    for (int i = 0; i < moved; ++i)
      builder.copy(block(held, all, travel[static_cast<std::size_t>(i)]), block(arrived, all, i));
  }
  for (int i = 0; i < n; ++i)
    builder.copy(block(target, all, wrap(rank - i, n)), block(held, all, i));
  return builder.take();
}

}  // namespace muster::comm::collective
