#pragma once

#include <functional>
#include <optional>

#include "muster/comm/collective/algorithm/builder.h"
#include "muster/comm/collective/algorithm/ring.h"

namespace muster::comm::collective {

/// The reduce-scatter of the ring algorithms, for n ranks and n blocks: in step s a rank sends
/// block rank - s - 1 to the next rank (ring.h), receives block rank - s - 2 from the one
/// before, all counted round the ring, and combines it with its own. After n - 1 steps block r is
/// combined at rank r. The order is that of the ring, not of ranks.
///
/// Blocks go in S segments, and a segment is combined while the next one travels, so a step has S
/// rounds. Rounds: (n-1) · S. Bytes sent: those of n - 1 blocks.
class RingReduce {
 public:
  /// Where a step puts the block that it combines, as large as the block.
  using ResultOf = std::function<Region(int step, int block)>;

  RingReduce(const Call& call, const Ring& ring, const Blocks& blocks);

  /// `source`: the rank's own items, all blocks.
  void build(Builder& builder, const Region& source, const ResultOf& result_of);
  /// Combines what came last, beside the messages of the round that was begun since, or after those
  /// of the last one.
  void finish_meanwhile(Builder& builder);
  void finish(Builder& builder);

  [[nodiscard]] std::vector<Region> segments_of(const Region& region) const {
    return segments(region, parts_, item_size_);
  }

 private:
  struct Combination {
    Region into;
    Region left;
    Region right;
  };

  const Ring& ring_;  // the caller's, like the blocks: they outlive this
  const Blocks& blocks_;
  std::size_t item_size_;
  std::size_t largest_ = 0;  // of the blocks, in bytes
  std::size_t parts_;        // S
  std::optional<Combination> pending_;
};

}  // namespace muster::comm::collective
