#include "muster/comm/driver/shm/arena.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/comm/driver/shm/frame.h"
#include "muster/comm/errc.h"

namespace muster::comm::shm {
namespace {

// The first segment is small, because making the pages takes time; each later one is as large as
// all before it together.
constexpr std::size_t kSmallestSegment = std::size_t{4} << 20;
constexpr std::size_t kUsualSegment = std::size_t{64} << 20;
constexpr std::size_t kSegmentUnit = std::size_t{1} << 20;
constexpr Duration kIdle = std::chrono::seconds(10);
// Every allocation looks at a few blocks whether they came back: more than one, so that it gains on
// them, and few, because each look is a cache miss.
constexpr std::size_t kLooks = 4;
constexpr std::size_t kLoansToSettle = 8;

class Hold {
 public:
  Hold(std::shared_ptr<Block> block, std::atomic<bool>& held)
      : block_(std::move(block)), held_(held) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { held_.store(false, std::memory_order_release); }

 private:
  std::shared_ptr<Block> block_;
  std::atomic<bool>& held_;  // of block_
};

}  // namespace

void Block::lend(std::shared_ptr<SlotTable> table, std::uint32_t slot) {
  // A block that is kept and sent again and again must not collect what is long over.
  if (loans_.size() >= kLoansToSettle) settle();
  loans_.push_back({std::move(table), slot});
}

void Block::settle() {
  std::erase_if(loans_, [](Loan& loan) {
    if (!loan.table->released(loan.slot)) return false;
    loan.table->give_back(loan.slot);
    return true;
  });
}

bool Block::unused() {
  settle();
  return loans_.empty() && !held_.load(std::memory_order_acquire);
}

Result<std::shared_ptr<Block>> Arena::allocate(std::size_t bytes, Force force) {
  const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  reclaim_some();
  auto block = cut_anywhere(size);
  if (!block) {
    reclaim();
    block = cut_anywhere(size);
  }
  if (!block) {
    if (auto grown = grow(size, force); !grown) return fail(std::move(grown).error());
    block = cut(segments_.back(), size);
  }
  MUSTER_ASSERT(block, "a new segment has room for what it was made for");
  return block;
}

std::shared_ptr<void> Arena::hold(std::shared_ptr<Block> block) {
  std::atomic<bool>& held = block->held_;
  held.store(true, std::memory_order_relaxed);
  return std::make_shared<Hold>(std::move(block), held);
}

std::shared_ptr<Block> Arena::find(const std::byte* data, std::size_t bytes) const {
  for (const auto& segment : segments_) {
    const std::byte* const begin = segment->memory.data();
    if (std::less<>{}(data, begin) || !std::less<>{}(data, begin + segment->memory.size())) {
      continue;
    }
    const auto offset = static_cast<std::size_t>(data - begin);
    auto next = segment->used.upper_bound(offset);
    if (next == segment->used.begin()) return nullptr;
    Block& block = *std::prev(next)->second;
    if (!block.held_.load(std::memory_order_acquire)) return nullptr;
    if (offset + bytes > block.offset_ + block.bytes_) return nullptr;
    return block.shared_from_this();
  }
  return nullptr;
}

const Segment* Arena::segment(std::uint32_t id) const {
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [id](const auto& segment) { return segment->id == id; });
  return found == segments_.end() ? nullptr : found->get();
}

std::shared_ptr<Block> Arena::cut(const std::shared_ptr<Segment>& segment, std::size_t bytes) {
  const auto found = std::find_if(segment->free.begin(), segment->free.end(),
                                  [bytes](const auto& piece) { return piece.second >= bytes; });
  if (found == segment->free.end()) return nullptr;
  const auto [offset, size] = *found;
  segment->free.erase(found);
  if (size > bytes) segment->free.emplace(offset + bytes, size - bytes);
  auto block = std::make_shared<Block>(segment, offset, bytes);
  segment->used.emplace(offset, block.get());
  blocks_.push_back(block);
  used_ += bytes;
  return block;
}

std::shared_ptr<Block> Arena::cut_anywhere(std::size_t bytes) {
  for (const auto& segment : segments_) {
    if (auto block = cut(segment, bytes)) return block;
  }
  return nullptr;
}

Result<void> Arena::grow(std::size_t bytes, Force force) {
  std::size_t size = std::clamp(total_, kSmallestSegment, kUsualSegment);
  if (bytes > size || total_ + size > limit_) size = round_up(bytes, kSegmentUnit);
  if (total_ + size > limit_) drop_empty_segments(clock_.now());
  if (total_ + size > limit_ && force == Force::no) {
    return fail(
        Errc::would_block,
        fmt::format("the shared memory for sending is full: {} of {} bytes used", used_, limit_));
  }
  auto file = create_memory_file("muster-arena", size);
  if (!file) return fail(std::move(file).error());
  auto memory = Mapping::map(file->get(), size, Populate::yes);
  if (!memory) return fail(std::move(memory).error());
  auto segment = std::make_shared<Segment>();
  segment->id = next_segment_++;
  segment->file = *std::move(file);
  segment->memory = *std::move(memory);
  segment->free.emplace(0, size);
  segment->used_last = clock_.now();
  if (!next_retirement_) next_retirement_ = segment->used_last + kIdle;
  segments_.push_back(std::move(segment));
  total_ += size;
  return {};
}

void Arena::reclaim_some() {
  for (std::size_t looks = kLooks; looks > 0 && !blocks_.empty(); --looks) {
    if (cursor_ >= blocks_.size()) cursor_ = 0;
    if (!reclaim_at(cursor_)) ++cursor_;
  }
}

void Arena::reclaim() {
  for (std::size_t i = 0; i < blocks_.size();) {
    if (!reclaim_at(i)) ++i;
  }
}

// True when the block went, and another took its place.
bool Arena::reclaim_at(std::size_t index) {
  Block& block = *blocks_[index];
  if (!block.unused()) return false;
  Segment& segment = *block.segment_;
  segment.used.erase(block.offset_);
  used_ -= block.bytes_;
  auto piece = segment.free.emplace(block.offset_, block.bytes_).first;
  if (const auto next = std::next(piece);
      next != segment.free.end() && piece->first + piece->second == next->first) {
    piece->second += next->second;
    segment.free.erase(next);
  }
  if (piece != segment.free.begin()) {
    const auto before = std::prev(piece);
    if (before->first + before->second == piece->first) {
      before->second += piece->second;
      segment.free.erase(piece);
    }
  }
  if (segment.used.empty()) segment.used_last = clock_.now();
  std::swap(blocks_[index], blocks_.back());
  blocks_.pop_back();
  return true;
}

void Arena::drop_empty_segments(TimePoint unused_since) {
  std::erase_if(segments_, [&](const std::shared_ptr<Segment>& segment) {
    if (!segment->used.empty() || segment->used_last > unused_since) return false;
    total_ -= segment->memory.size();
    retired_.push_back(segment->id);
    return true;
  });
}

void Arena::clear() {
  blocks_.clear();
  segments_.clear();
  retired_.clear();
  next_retirement_.reset();
  total_ = used_ = 0;
}

void Arena::retire_idle() {
  reclaim();
  const TimePoint now = clock_.now();
  drop_empty_segments(now - kIdle);
  next_retirement_ = segments_.empty() ? Deadline() : Deadline(now + kIdle);
}

}  // namespace muster::comm::shm
