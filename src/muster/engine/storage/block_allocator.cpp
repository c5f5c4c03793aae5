#include "muster/engine/storage/block_allocator.h"

#include <algorithm>
#include <iterator>

#include "muster/base/assert.h"

namespace muster::engine {

BlockAllocator::BlockAllocator(std::size_t bytes) : capacity_(bytes / kAlignment * kAlignment) {
  if (capacity_ > 0) add_gap(0, capacity_);
}

std::optional<std::size_t> BlockAllocator::allocate(std::size_t bytes) {
  if (bytes > capacity_) return std::nullopt;
  const std::size_t size =
      (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  const auto found = by_size_.lower_bound({size, 0});
  if (found == by_size_.end()) return std::nullopt;
  const auto [gap, offset] = *found;
  remove_gap(by_offset_.find(offset));
  if (gap > size) add_gap(offset + size, gap - size);
  blocks_.emplace(offset, size);
  used_ += size;
  return offset;
}

void BlockAllocator::free(std::size_t offset) {
  const auto block = blocks_.find(offset);
  MUSTER_ASSERT(block != blocks_.end(), "a block is freed once, by the offset it was given");
  std::size_t begin = offset;
  std::size_t end = offset + block->second;
  used_ -= block->second;
  blocks_.erase(block);

  auto next = by_offset_.lower_bound(begin);
  if (next != by_offset_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      remove_gap(before);
    }
  }
  if (next != by_offset_.end() && next->first == end) {
    end += next->second;
    remove_gap(next);
  }
  add_gap(begin, end - begin);
}

std::size_t BlockAllocator::largest_gap() const {
  return by_size_.empty() ? 0 : by_size_.rbegin()->first;
}

void BlockAllocator::add_gap(std::size_t offset, std::size_t bytes) {
  by_offset_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

void BlockAllocator::remove_gap(std::map<std::size_t, std::size_t>::iterator gap) {
  by_size_.erase({gap->second, gap->first});
  by_offset_.erase(gap);
}

}  // namespace muster::engine
