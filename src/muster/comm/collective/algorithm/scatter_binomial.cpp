// Binomial tree scatter, for n ranks and blocks of b bytes.
//
// Ranks are numbered from the root on. A rank receives the blocks of all ranks below it in one
// message (two from the root, where they go past the last rank), keeps its own and passes the rest
// on, the larger half first.
//
// Rounds: at most 1 + ⌈log2 n⌉. Bytes sent: (n-1) · b by the root, in ⌈log2 n⌉ messages; over all
// ranks b · n/2 · log2 n. Pays for small blocks only.

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/subtree.h"

namespace muster::comm::collective {

Schedule scatter_binomial(const Call& call, const Place& place) {
  const Subtree tree(place, call.root);
  const Blocks all = blocks(call, place.size);
  const std::size_t one = count_bytes(call);
  const auto below = [&](int first, int end) {
    return one * static_cast<std::size_t>(end - first);
  };
  Builder builder;

  if (tree.is_root()) {
    const Region source = input(call, 0, all.total());
    for (const auto& [v, end] : tree.children()) {
      builder.round();
      for (const Region& part : tree.in_order_of_ranks(source, all, v, end))
        builder.send(tree.rank(v), part);
    }
    if (!call.in_place()) builder.copy_meanwhile(output(0, one), block(source, all, place.rank));
    return builder.take();
  }

  const Region held =
      tree.is_leaf() ? output(0, one) : builder.scratch(below(tree.v(), tree.end()));
  builder.round();
  if (tree.parent_is_root())
    for (const Region& part : tree.cut(held, tree.v(), tree.end()))
      builder.receive(tree.parent(), part);
  else
    builder.receive(tree.parent(), held);
  for (const auto& [v, end] : tree.children()) {
    builder.round();
    builder.send(tree.rank(v), held.part(below(tree.v(), v), below(v, end)));
  }
  if (!tree.is_leaf()) builder.copy_meanwhile(output(0, one), held.part(0, one));
  return builder.take();
}

}  // namespace muster::comm::collective
