#pragma once

#include "muster/comm/collective/algorithm/builder.h"
#include "muster/comm/collective/algorithm/fold.h"

namespace muster::comm::collective {

/// The first half of Rabenseifner's algorithms, for p = 2^d folded ranks and m bytes in p blocks: a
/// reduce-scatter by halving the vector while doubling the distance. In round k the partners v and
/// v xor 2^k have the same range of blocks; the one without bit k keeps its first half and sends
/// the second, the other the reverse; the one with the lower number is the left operand. Neighbours
/// are combined first, so the order of ranks is kept. At the end every rank has one block combined.
///
/// Rounds: d, and one when n is no power of two. Bytes sent: m · (p-1)/p (and m by the ranks that
/// rest).
class Halving {
 public:
  /// A range of blocks that partners divided, and how.
  struct Step {
    int partner;  ///< as a rank
    int first;
    int last;
    int middle;
    bool keeps_first;  ///< the blocks first … middle-1

    [[nodiscard]] int own_first() const { return keeps_first ? first : middle; }
    [[nodiscard]] int own_last() const { return keeps_first ? middle : last; }
    [[nodiscard]] int other_first() const { return keeps_first ? middle : first; }
    [[nodiscard]] int other_last() const { return keeps_first ? last : middle; }
  };

  Halving(const Call& call, const Place& place)
      : fold_(place.size),
        rank_(place.rank),
        blocks_(Blocks::split(call.count, static_cast<std::size_t>(fold_.size()),
                              item_size(call.element))) {}

  /// Adds the rounds. `source` is the rank's input and `result` where combined blocks come to lie,
  /// as large as the whole. A rank that rests only sends.
  void build(Builder& builder, const Region& source, const Region& result);

  [[nodiscard]] const Fold& fold() const { return fold_; }
  [[nodiscard]] const Blocks& blocks() const { return blocks_; }
  /// In the order of rounds.
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

 private:
  Fold fold_;
  int rank_;
  Blocks blocks_;
  std::vector<Step> steps_;
};

}  // namespace muster::comm::collective
