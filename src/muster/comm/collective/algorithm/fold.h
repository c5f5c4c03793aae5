#pragma once

#include <bit>

namespace muster::comm::collective {

/// Makes a power of two out of any number of ranks n: with p the largest power of two up to n and
/// extra = n - p, the first 2 · extra ranks form pairs, in which the even one hands its items to
/// the odd one and rests until the end. Those that stay are numbered 0 … p-1 in the order of ranks,
/// and each stands for neighbours, so combining neighbours keeps the order.
class Fold {
 public:
  explicit Fold(int n)
      : size_(static_cast<int>(std::bit_floor(static_cast<unsigned>(n)))), extra_(n - size_) {}

  [[nodiscard]] int size() const { return size_; }
  /// Whether this rank rests; its partner is the next.
  [[nodiscard]] bool rests(int rank) const { return rank < 2 * extra_ && rank % 2 == 0; }
  /// Whether this rank has a partner that rests; it is the one before.
  [[nodiscard]] bool stands_for_two(int rank) const { return rank < 2 * extra_ && rank % 2 == 1; }
  /// The number of a rank that stays, or of the one that stands for it.
  [[nodiscard]] int number(int rank) const { return rank < 2 * extra_ ? rank / 2 : rank - extra_; }
  [[nodiscard]] int rank(int number) const {
    return number < extra_ ? 2 * number + 1 : number + extra_;
  }
  /// The first of the ranks that `number` stands for; number may be size().
  [[nodiscard]] int first(int number) const {
    return number < extra_ ? 2 * number : number + extra_;
  }

 private:
  int size_;
  int extra_;
};

}  // namespace muster::comm::collective
