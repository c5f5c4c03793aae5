// Rabenseifner's reduce, for n ranks and m bytes: reduce-scatter by halving (halving.h), then a
// gather to the root along the same partners in reverse order. Of two partners, the one whose bit
// differs from the root's sends its range and is done.
//
// Rounds: 2 log2 p, p the largest power of two up to n, and up to two more when n is none. Bytes
// sent: at most 2m · (p-1)/p, against m · log2 p received by the root of a binomial tree.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/halving.h"

namespace muster::comm::collective {

Schedule reduce_rabenseifner(const Call& call, const Place& place) {
  const int rank = place.rank;
  const std::size_t bytes = count_bytes(call);
  const bool root = rank == call.root;
  Halving halving(call, place);
  const Fold& fold = halving.fold();
  Builder builder;
  const Region source = {root ? input(call, 0, 0).space : Space::input, 0, bytes};
  const Region result =
      root && !fold.rests(rank) ? output(0, bytes) : builder.scratch(fold.rests(rank) ? 0 : bytes);
  halving.build(builder, source, result);

  const int v = fold.number(rank);
  const int top = fold.number(call.root);  // of the rank that gathers
  for (std::size_t i = halving.steps().size(); i-- > 0;) {
    const Halving::Step& step = halving.steps()[i];
    builder.round();
    if (((v ^ top) >> i & 1) != 0) {
      builder.send(step.partner,
                   block(result, halving.blocks(), step.own_first(), step.own_last()));
      break;
    }
    builder.receive(step.partner,
                    block(result, halving.blocks(), step.other_first(), step.other_last()));
  }
  if (!fold.rests(call.root)) return builder.take();
  builder.round();
  if (rank == call.root + 1) builder.send(call.root, result);
  if (root) builder.receive(call.root + 1, output(0, bytes));
  return builder.take();
}

}  // namespace muster::comm::collective
