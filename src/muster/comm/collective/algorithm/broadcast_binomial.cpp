// Binomial tree broadcast with a pipeline, for n ranks and m bytes.
//
// Ranks are numbered from the root on: v = rank - root mod n. The parent of v is v without its
// lowest bit; the children of v are v + 2^k for every 2^k below that bit. Long messages go in S
// segments: a rank receives one while it passes on the one before.
//
// Rounds: S + depth, depth at most ⌈log2 n⌉. Bytes sent: m for each child, at most m · ⌈log2 n⌉ by
// the root.

#include <bit>

#include "muster/comm/collective/algorithm/algorithms.h"
#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {
namespace {

struct Tree {
  int parent = -1;
  std::vector<int> children;  // the one with the most below it first
};

Tree tree_of(const Place& place, int root) {
  const int n = place.size;
  const int v = wrap(place.rank - root, n);
  Tree tree;
  const int lowest = v == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))) : v & -v;
  if (v != 0) tree.parent = wrap(v - lowest + root, n);
  for (int bit = lowest / 2; bit > 0; bit /= 2)
    if (v + bit < n) tree.children.push_back(wrap(v + bit + root, n));
  return tree;
}

}  // namespace

Schedule broadcast_binomial(const Call& call, const Place& place) {
  const Tree tree = tree_of(place, call.root);
  const std::size_t bytes = count_bytes(call);
  const bool root = tree.parent < 0;
  const Region all = root ? input(call, 0, bytes) : output(0, bytes);
  const auto parts = segments(all, segment_count(bytes), item_size(call.element));

  Builder builder;
  // The root has segment k in round k, the others have received it in round k.
  for (std::size_t k = 0; k < parts.size() + (root ? 0 : 1); ++k) {
    builder.round();
    if (!root && k < parts.size()) builder.receive(tree.parent, parts[k]);
    if (root || k > 0)
      for (const int child : tree.children) builder.send(child, parts[root ? k : k - 1]);
    if (root && k == 0) builder.copy_meanwhile(output(0, bytes), all);
  }
  return builder.take();
}

}  // namespace muster::comm::collective
