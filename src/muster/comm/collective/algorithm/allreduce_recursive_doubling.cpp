// Recursive doubling, for n ranks and m bytes, for small m.
//
// n is folded to a power of two p (fold.h). In round k the partners v and v xor 2^k exchange all
// they have and combine it, the lower one's to the left: then each holds the combination of 2^(k+1)
// neighbours.
//
// Rounds: log2 p, and two more when n is no power of two. Bytes sent: m per round.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"
#include "muster/comm/collective/algorithm/fold.h"

namespace muster::comm::collective {

Schedule allreduce_recursive_doubling(const Call& call, const Place& place) {
  const int rank = place.rank;
  const std::size_t bytes = count_bytes(call);
  const Fold fold(place.size);
  const Region result = output(0, bytes);
  Region current = input(call, 0, bytes);
  Builder builder;

  if (fold.rests(rank)) {
    builder.round();
    builder.send(rank + 1, current);
    builder.round();
    builder.receive(rank + 1, result);
    return builder.take();
  }

  const Region other = builder.scratch(bytes);
  const auto combine = [&](bool other_first) {
    builder.reduce(result, other_first ? other : current, other_first ? current : other);
    current = result;
  };
  if (fold.stands_for_two(rank)) {
    builder.round();
    builder.receive(rank - 1, other);
    combine(true);
  }
  const int v = fold.number(rank);
  for (int bit = 1; bit < fold.size(); bit *= 2) {
    const int partner = fold.rank(v ^ bit);
    builder.round();
    builder.send(partner, current);
    builder.receive(partner, other);
    combine(partner < rank);
  }
  if (fold.stands_for_two(rank)) {
    builder.round();
    builder.send(rank - 1, result);
  }
  return builder.take();
}

}  // namespace muster::comm::collective
