#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "muster/comm/collective/algorithm/builder.h"

namespace muster::comm::collective {

/// A rank's place in the binomial tree of scatter and gather. Ranks are numbered from the root on:
/// v = rank - root mod n. Below v lie v … end-1, with v itself; the parent is v without its lowest
/// bit.
class Subtree {
 public:
  Subtree(const Place& place, int root)
      : n_(place.size), root_(root), v_(wrap(place.rank - root, n_)) {
    bit_ = v_ == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(n_))) : v_ & -v_;
  }

  [[nodiscard]] bool is_root() const { return v_ == 0; }
  [[nodiscard]] bool is_leaf() const { return bit_ == 1 || v_ + 1 >= n_; }
  [[nodiscard]] int v() const { return v_; }
  [[nodiscard]] int end() const { return std::min(v_ + bit_, n_); }
  [[nodiscard]] int parent() const { return rank(v_ - bit_); }
  [[nodiscard]] int rank(int v) const { return wrap(v + root_, n_); }
  [[nodiscard]] bool parent_is_root() const { return v_ == bit_; }

  struct Child {
    int v;
    int end;
  };
  /// The one with the most below it first.
  [[nodiscard]] std::vector<Child> children() const {
    std::vector<Child> result;
    for (int half = bit_ / 2; half > 0; half /= 2)
      if (v_ + half < n_) result.push_back({v_ + half, std::min(v_ + 2 * half, n_)});
    return result;
  }

  /// The blocks first … end-1, numbered from the root on, as they lie in the root's buffer, which
  /// is in the order of ranks: two regions when they go past the last rank, and the second may be
  /// empty.
  [[nodiscard]] std::vector<Region> in_order_of_ranks(const Region& base, const Blocks& blocks,
                                                      int first, int end) const {
    const int from = first + root_;
    const int to = end + root_;
    if (to <= n_) return {block(base, blocks, from, to)};
    if (from >= n_) return {block(base, blocks, from - n_, to - n_)};
    return {block(base, blocks, from, n_), block(base, blocks, 0, to - n_)};
  }

  /// `region` cut where `in_order_of_ranks` cuts: blocks are of equal size.
  [[nodiscard]] std::vector<Region> cut(const Region& region, int first, int end) const {
    const int from = first + root_;
    const int to = end + root_;
    if (to <= n_ || from >= n_) return {region};
    const std::size_t one = region.bytes / static_cast<std::size_t>(end - first);
    const std::size_t before = one * static_cast<std::size_t>(n_ - from);
    return {region.part(0, before), region.part(before, region.bytes - before)};
  }

 private:
  int n_;
  int root_;
  int v_;
  int bit_;
};

}  // namespace muster::comm::collective
