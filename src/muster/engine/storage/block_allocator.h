#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace muster::engine {

/// Divides a range of bytes into blocks: best fit, lowest address first, and neighbours that are
/// free become one. It knows only numbers: what it knows about the blocks is not kept among them,
/// where a stray write could change it. Not thread-safe.
class BlockAllocator {
 public:
  /// Blocks begin at multiples of this, which suits every vector instruction.
  static constexpr std::size_t kAlignment = 64;

  explicit BlockAllocator(std::size_t bytes);

  /// Where the block begins; nothing when no gap is large enough. A block of 0 bytes takes the room
  /// of 1.
  [[nodiscard]] std::optional<std::size_t> allocate(std::size_t bytes);
  void free(std::size_t offset);

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] std::size_t largest_gap() const;
  [[nodiscard]] std::size_t gaps() const { return by_offset_.size(); }

 private:
  void add_gap(std::size_t offset, std::size_t bytes);
  void remove_gap(std::map<std::size_t, std::size_t>::iterator gap);

  std::size_t capacity_;
  std::size_t used_ = 0;
  std::map<std::size_t, std::size_t> by_offset_;           ///< gaps: offset, bytes
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  ///< the same: bytes, offset
  std::unordered_map<std::size_t, std::size_t> blocks_;    ///< offset, bytes
};

}  // namespace muster::engine
