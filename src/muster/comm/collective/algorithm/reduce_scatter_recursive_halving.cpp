// Recursive halving, for n ranks and m bytes in n blocks. Blocks may differ in size.
//
// n is folded to a power of two p (fold.h); each of the p stands for the blocks of the ranks it
// stands for. In round k the partners v and v xor p/2^(k+1) have the same range of p/2^k; each
// sends the half that the other lies in and combines the half that it lies in itself. Distant ranks
// are combined first, so the order of ranks is lost.
//
// Rounds: log2 p, and two more when n is no power of two. Bytes sent: about m · (p-1)/p.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"
#include "muster/comm/collective/algorithm/fold.h"

namespace muster::comm::collective {

Schedule reduce_scatter_recursive_halving(const Call& call, const Place& place) {
  const int rank = place.rank;
  const Blocks all = blocks(call, place.size);
  const Fold fold(place.size);
  const Region source = input(call, 0, all.total());
  const Region target = output(0, all.bytes(static_cast<std::size_t>(rank)));
  Builder builder;

  if (fold.rests(rank)) {
    builder.round();
    builder.send(rank + 1, source);
    builder.round();
    builder.receive(rank + 1, target);
    return builder.take();
  }

  const Region other = builder.scratch(all.total());
  const Region result = builder.scratch(all.total());
  Region current = source;
  if (fold.stands_for_two(rank)) {
    builder.round();
    builder.receive(rank - 1, other);
    builder.reduce(result, other, current);
    current = result;
  }
  const int v = fold.number(rank);
  int first = 0;
  for (int half = fold.size() / 2; half > 0; half /= 2) {
    const bool low = (v & half) == 0;
    const int partner = fold.rank(v ^ half);
    const int kept = low ? first : first + half;
    const int given = low ? first + half : first;
    const auto range = [&](const Region& base, int from) {
      return block(base, all, fold.first(from), fold.first(from + half));
    };
    builder.round();
    builder.send(partner, range(current, given));
    builder.receive(partner, range(other, kept));
    builder.reduce(range(result, kept), range(current, kept), range(other, kept));
    current = result;
    first = kept;
  }
  builder.round();
  if (fold.stands_for_two(rank)) builder.send(rank - 1, block(result, all, rank - 1));
  builder.copy_meanwhile(target, block(result, all, rank));
  return builder.take();
}

}  // namespace muster::comm::collective
