#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "muster/comm/collective/shared/all_to_all.h"
#include "muster/comm/collective/shared/gather.h"
#include "muster/comm/collective/shared/operation.h"
#include "muster/comm/collective/shared/scatter.h"

namespace muster::comm::collective::shared {

/// Tells all ranks the counts that only some know: for scatter the root's, for gather and
/// all-to-all those of every rank, one row each.
///
/// Steps: 1. Bytes: 8 per count.
struct Counts {
  Counts(Channel& channel, const Call& call) : task(channel, call), rows(task_ranks()) {
    using collective::Operation;
    if (call.operation == Operation::scatter) {
      gives = task.rank == call.root;
      needs_from = gives ? 0 : call.root;
      needs_to = gives ? 0 : call.root + 1;
    } else {
      needs_to = task.ranks;
    }
    if (call.operation == Operation::gather) {
      own = {call.counts.empty() ? call.count : call.counts[static_cast<std::size_t>(task.rank)]};
    } else {
      own = call.counts;
    }
  }

  [[nodiscard]] std::size_t task_ranks() const { return static_cast<std::size_t>(task.ranks); }
  [[nodiscard]] std::size_t row() const {
    return task.call.operation == collective::Operation::gather ? 1 : task_ranks();
  }
  void give(std::size_t /*step*/) const {
    std::memcpy(task.channel.staging(task.first), own.data(), own.size() * sizeof(std::size_t));
  }
  void take(std::size_t /*step*/) {
    for (int rank = needs_from; rank < needs_to; ++rank) {
      auto& counts = rows[static_cast<std::size_t>(rank)];
      counts.resize(row());
      std::memcpy(counts.data(), task.channel.staging(rank, task.first),
                  row() * sizeof(std::size_t));
    }
    rows[static_cast<std::size_t>(task.rank)] = own;
  }

  Task task;
  std::vector<std::vector<std::size_t>> rows;  // by rank
  std::vector<std::size_t> own;
  std::size_t steps = 1;
  bool gives = true;
  bool lends = false;
  int needs_from = 0;
  int needs_to = 0;
};

/// Scatter, gather and all-to-all with different counts: the counts first, then the blocks.
class Variable final : public Operation {
 public:
  Variable(Channel& channel, const Call& call)
      : channel_(channel), call_(call), counts_(channel, call) {}

  [[nodiscard]] const Signature& signature() const override { return counts_.signature(); }
  [[nodiscard]] std::uint64_t position() const override { return counts_.position(); }
  [[nodiscard]] int waits_for() const override {
    return blocks_ ? blocks_->waits_for() : counts_.waits_for();
  }
  [[nodiscard]] bool awaits(int rank) const override {
    return blocks_ ? blocks_->awaits(rank) : counts_.awaits(rank);
  }
  [[nodiscard]] bool is_lending() const override { return blocks_ && blocks_->is_lending(); }

  Progress advance() override {
    if (!blocks_) {
      const Progress progress = follow(counts_);
      if (progress != Progress::over) return progress;
      if (!agree()) return Progress::differs;
    }
    return follow(*blocks_);
  }
  Progress compare() override {
    Operation& current = blocks_ ? *blocks_ : static_cast<Operation&>(counts_);
    const Progress progress = current.compare();
    other_ = current.other();
    return progress;
  }

 private:
  Progress follow(Operation& part) {
    const Progress progress = part.advance();
    other_ = part.other();
    news_ = part.take_news() || news_;
    return progress;
  }
  /// Makes the second half, or says who differs.
  bool agree();
  bool expect(int rank, std::size_t given, std::size_t expected) {
    if (given == expected) return true;
    other_ = rank;
    detail_ = fmt::format("rank {} gives {} items where rank {} expects {}", rank, given,
                          channel_.rank(), expected);
    return false;
  }
  bool agree_on_scatter();
  bool agree_on_gather();
  bool agree_on_all_to_all();

  Channel& channel_;
  const Call& call_;
  Stepped<Counts> counts_;
  std::unique_ptr<Operation> blocks_;
};

}  // namespace muster::comm::collective::shared
