// Binomial tree reduce, for n ranks and m bytes.
//
// Ranks are numbered from the root on: v = rank - root mod n. In round k those with bit k send what
// they have to v - 2^k and are done; it puts their items to the right of its own. So every rank
// holds the combination of v … v + 2^k - 1. When the order matters the tree stands on rank 0, which
// sends the result to the root in one more round.
//
// Rounds: ⌈log2 n⌉ (+ 1). Bytes: m per message, n - 1 messages.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

Schedule reduce_binomial(const Call& call, const Place& place) {
  const auto [rank, n, hosts] = place;
  const std::size_t bytes = count_bytes(call);
  const int top = call.reduction.commutative ? call.root : 0;
  const int v = wrap(rank - top, n);
  const bool to_output = rank == top && rank == call.root;
  Builder builder;
  const Region other = builder.scratch(v % 2 == 0 ? bytes : 0);
  const Region result = to_output ? output(0, bytes) : builder.scratch(v % 2 == 0 ? bytes : 0);
  Region current = input(call, 0, bytes);
  if (rank != call.root) current.space = Space::input;  // its output means nothing

  for (int bit = 1; bit < n; bit *= 2) {
    if ((v & bit) != 0) {
      builder.round();
      builder.send(wrap(v - bit + top, n), current);
      break;
    }
    if (v + bit >= n) continue;
    builder.round();
    builder.receive(wrap(v + bit + top, n), other);
    builder.reduce(result, current, other);
    current = result;
  }
  if (top == call.root) return builder.take();
  builder.round();
  if (rank == top) builder.send(call.root, current);
  if (rank == call.root) builder.receive(top, output(0, bytes));
  return builder.take();
}

}  // namespace muster::comm::collective
