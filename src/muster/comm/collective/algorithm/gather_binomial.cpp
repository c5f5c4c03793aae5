// Binomial tree gather, for n ranks and blocks of b bytes: scatter_binomial backwards.
//
// Ranks are numbered from the root on. A rank collects the blocks of all ranks below it, the
// smaller halves first, and sends them to its parent in one message (two to the root, where they go
// past the last rank).
//
// Rounds: at most 1 + ⌈log2 n⌉. Bytes received: (n-1) · b by the root, in ⌈log2 n⌉ messages; over
// all ranks b · n/2 · log2 n. Pays for small blocks only.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/subtree.h"

namespace muster::comm::collective {

Schedule gather_binomial(const Call& call, const Place& place) {
  const Subtree tree(place, call.root);
  const std::size_t one = count_bytes(call);
  const auto below = [&](int first, int end) {
    return one * static_cast<std::size_t>(end - first);
  };
  auto children = tree.children();
  std::reverse(children.begin(), children.end());
  Builder builder;
  builder.round();

  if (tree.is_root()) {
    const Blocks all = blocks(call, place.size);
    const Region target = output(0, all.total());
    if (!call.in_place())
      builder.copy_meanwhile(block(target, all, place.rank), {Space::input, 0, one});
    for (const auto& [v, end] : children) {
      builder.round();
      for (const Region& part : tree.in_order_of_ranks(target, all, v, end))
        builder.receive(tree.rank(v), part);
    }
    return builder.take();
  }

  const Region own = {Space::input, 0, one};
  const Region held = tree.is_leaf() ? own : builder.scratch(below(tree.v(), tree.end()));
  builder.copy_meanwhile(held.part(0, one), own);
  for (const auto& [v, end] : children) {
    builder.round();
    builder.receive(tree.rank(v), held.part(below(tree.v(), v), below(v, end)));
  }
  builder.round();
  if (tree.parent_is_root())
    for (const Region& part : tree.cut(held, tree.v(), tree.end()))
      builder.send(tree.parent(), part);
  else
    builder.send(tree.parent(), held);
  return builder.take();
}

}  // namespace muster::comm::collective
