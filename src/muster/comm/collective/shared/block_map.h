#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "muster/comm/collective/call.h"

namespace muster::comm::collective::shared {

/// Blocks of a buffer, in bytes; equal ones need no memory.
class BlockMap {
 public:
  BlockMap() = default;
  BlockMap(int ranks, std::size_t bytes) : ranks_(ranks), bytes_(bytes) {}
  BlockMap(const std::vector<std::size_t>& counts, std::size_t item)
      : ranks_(static_cast<int>(counts.size())), starts_(counts.size() + 1) {
    for (std::size_t i = 0; i < counts.size(); ++i) starts_[i + 1] = starts_[i] + counts[i] * item;
  }
  /// Of the buffer with n blocks.
  static BlockMap of(const Call& call, int ranks) {
    const std::size_t item = item_size(call.element);
    if (call.counts.empty()) return {ranks, call.count * item};
    return {call.counts, item};
  }

  [[nodiscard]] std::size_t start(int rank) const {
    const auto block = static_cast<std::size_t>(rank);
    return starts_.empty() ? block * bytes_ : starts_[block];
  }
  [[nodiscard]] std::size_t bytes(int rank) const {
    const auto block = static_cast<std::size_t>(rank);
    return starts_.empty() ? bytes_ : starts_[block + 1] - starts_[block];
  }
  [[nodiscard]] std::size_t total() const {
    return starts_.empty() ? bytes_ * static_cast<std::size_t>(ranks_) : starts_.back();
  }
  [[nodiscard]] std::size_t largest() const {
    std::size_t most = bytes_;
    if (!starts_.empty())
      for (int rank = 0; rank < ranks_; ++rank) most = std::max(most, bytes(rank));
    return most;
  }

 private:
  int ranks_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::size_t> starts_;  // of blocks that differ, and where the last ends
};

/// A pointer for each rank; few need no heap.
class Sources {
 public:
  explicit Sources(int ranks) : count_(static_cast<std::size_t>(ranks)) {
    if (count_ > kFew) many_.resize(count_);
  }

  const std::byte*& operator[](int rank) { return data()[rank]; }
  [[nodiscard]] std::span<const std::byte*> all() { return {data(), count_}; }

 private:
  static constexpr std::size_t kFew = 16;

  [[nodiscard]] const std::byte** data() { return count_ > kFew ? many_.data() : few_; }

  std::size_t count_;
  const std::byte* few_[kFew];  // left uninitialised
  std::vector<const std::byte*> many_;
};

}  // namespace muster::comm::collective::shared
