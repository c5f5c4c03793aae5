// Rabenseifner's allreduce, for n ranks and m bytes: reduce-scatter by halving (halving.h), then an
// allgather along the same partners in reverse order, in which ranges double.
//
// Rounds: 2 log2 p, p the largest power of two up to n, and two more when n is none. Bytes sent:
// 2m · (p-1)/p, the least there is, in few messages.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/halving.h"

namespace muster::comm::collective {

Schedule allreduce_rabenseifner(const Call& call, const Place& place) {
  const int rank = place.rank;
  const Region result = output(0, count_bytes(call));
  Halving halving(call, place);
  Builder builder;
  halving.build(builder, input(call, 0, count_bytes(call)), result);
  for (std::size_t i = halving.steps().size(); i-- > 0;) {
    const Halving::Step& step = halving.steps()[i];
    builder.round();
    builder.send(step.partner, block(result, halving.blocks(), step.own_first(), step.own_last()));
    builder.receive(step.partner,
                    block(result, halving.blocks(), step.other_first(), step.other_last()));
  }
  builder.round();
  if (halving.fold().stands_for_two(rank)) builder.send(rank - 1, result);
  if (halving.fold().rests(rank)) builder.receive(rank + 1, result);
  return builder.take();
}

}  // namespace muster::comm::collective
