#include "muster/comm/collective/algorithm/ring_reduce.h"

#include <algorithm>

namespace muster::comm::collective {

RingReduce::RingReduce(const Call& call, const Ring& ring, const Blocks& blocks)
    : ring_(ring), blocks_(blocks), item_size_(item_size(call.element)) {
  for (std::size_t i = 0; i < blocks.size(); ++i) largest_ = std::max(largest_, blocks.bytes(i));
  parts_ = segment_count(largest_);
}

void RingReduce::build(Builder& builder, const Region& source, const ResultOf& result_of) {
  // One segment arrives while the one before is combined.
  const Region arrivals[] = {builder.scratch(largest_ / parts_ + item_size_),
                             builder.scratch(largest_ / parts_ + item_size_)};
  std::size_t round = 0;
  Region sent = block(source, blocks_, ring_.rank(-1));
  for (int step = 0; step < ring_.size() - 1; ++step) {
    const int received = ring_.rank(-step - 2);
    const Region result = result_of(step, received);
    const auto outgoing = segments_of(sent);
    const auto own = segments_of(block(source, blocks_, received));
    const auto combined = segments_of(result);
    for (std::size_t k = 0; k < parts_; ++k, ++round) {
      const Region arrival = arrivals[round % 2].part(0, own[k].bytes);
      builder.round();
      builder.send(ring_.rank(1), outgoing[k]);
      builder.receive(ring_.rank(-1), arrival);
      finish_meanwhile(builder);
      pending_ = Combination{combined[k], arrival, own[k]};
      if (parts_ == 1) finish(builder);  // the next round sends it
    }
    sent = result;
  }
}

void RingReduce::finish_meanwhile(Builder& builder) {
  if (pending_) builder.reduce_meanwhile(pending_->into, pending_->left, pending_->right);
  pending_.reset();
}

void RingReduce::finish(Builder& builder) {
  if (pending_) builder.reduce(pending_->into, pending_->left, pending_->right);
  pending_.reset();
}

}  // namespace muster::comm::collective
