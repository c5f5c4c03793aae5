// Direct reduce-scatter, for n ranks and m bytes in n blocks. Blocks may differ in size.
//
// Every rank sends every other its block, all at once, and combines what it gets in the order of
// ranks: the only one of its kind that keeps the order for any n.
//
// Rounds: 1. Bytes sent: those of n - 1 blocks, in n - 1 messages.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

Schedule reduce_scatter_direct(const Call& call, const Place& place) {
  const auto [rank, n, hosts] = place;
  const Blocks all = blocks(call, n);
  const Region source = input(call, 0, all.total());
  const std::size_t own = all.bytes(static_cast<std::size_t>(rank));
  Builder builder;
  builder.round();
  std::vector<Region> operands;
  for (int other = 0; other < n; ++other)
    operands.push_back(other == rank ? block(source, all, rank) : builder.scratch(own));
  for (int i = 1; i < n; ++i) {
    const int to = wrap(rank + i, n);
    const int from = wrap(rank - i, n);
    builder.send(to, block(source, all, to));
    builder.receive(from, operands[static_cast<std::size_t>(from)]);
  }
  // In place, the output overlaps the block that is still read.
  const Region target = output(0, own);
  const Region result = call.in_place() ? builder.scratch(own) : target;
  Region left = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    builder.reduce(result, left, operands[i]);
    left = result;
  }
  builder.copy(target, result);
  return builder.take();
}

}  // namespace muster::comm::collective
