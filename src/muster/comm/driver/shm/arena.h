#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/driver/shm/slot_table.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/mapping.h"

namespace muster::comm::shm {

/// A piece of shared memory that receivers map as a whole. Blocks are cut from it.
struct Segment {
  std::uint32_t id = 0;
  FileDescriptor file;
  Mapping memory;
  std::map<std::size_t, std::size_t> free;  ///< size by offset; neighbours are joined
  std::map<std::size_t, class Block*> used;
  TimePoint used_last{};
};

/// Some bytes of a segment. Reused when nobody in this process holds it and every receiver it was
/// sent to has let go or died.
class Block : public std::enable_shared_from_this<Block> {
 public:
  Block(std::shared_ptr<Segment> segment, std::size_t offset, std::size_t bytes)
      : segment_(std::move(segment)), offset_(offset), bytes_(bytes) {}

  [[nodiscard]] const Segment& segment() const { return *segment_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] std::byte* data() const { return segment_->memory.data() + offset_; }

  /// Remembers that it was sent under this slot.
  void lend(std::shared_ptr<SlotTable> table, std::uint32_t slot);

 private:
  friend class Arena;
  struct Loan {
    std::shared_ptr<SlotTable> table;
    std::uint32_t slot;
  };
  void settle();
  [[nodiscard]] bool unused();

  std::shared_ptr<Segment> segment_;
  std::size_t offset_;
  std::size_t bytes_;
  std::vector<Loan> loans_;
  std::atomic<bool> held_{false};  // cleared by whatever thread drops the last local reference
};

enum class Force : bool { no, yes };

/// The memory from which this process sends large bodies. Grows by segments, up to a limit; only
/// with the proxy's lock held. Blocks and what holds them may outlive it.
class Arena {
 public:
  Arena(std::size_t limit, const Clock& clock) : limit_(limit), clock_(clock) {}

  /// A block that lives until it was lent and came back; lend it before the next call. With
  /// `Errc::would_block` the limit is reached: try again when receivers have let go. `Force::yes`
  /// goes beyond the limit.
  [[nodiscard]] Result<std::shared_ptr<Block>> allocate(std::size_t bytes, Force force);
  /// Keeps the block from being reused while the answer lives. From any thread.
  [[nodiscard]] static std::shared_ptr<void> hold(std::shared_ptr<Block> block);

  /// The held block in which all of this lies; null when there is none.
  [[nodiscard]] std::shared_ptr<Block> find(const std::byte* data, std::size_t bytes) const;

  /// Null when there is none.
  [[nodiscard]] const Segment* segment(std::uint32_t id) const;

  /// Takes back what is not used any more.
  void reclaim();
  /// Gives segments back to the system that were not used for a while.
  void retire_idle();
  /// When `retire_idle` may have something to do.
  [[nodiscard]] Deadline next_retirement() const { return next_retirement_; }
  /// The segments given back since the last call, for receivers to let go too.
  [[nodiscard]] std::vector<std::uint32_t> take_retired() { return std::exchange(retired_, {}); }

  /// Lets go of everything; what is held or was sent stays readable.
  void clear();

  [[nodiscard]] std::size_t total_bytes() const { return total_; }
  [[nodiscard]] std::size_t used_bytes() const { return used_; }
  /// So much is used that receivers had better not hold what they get.
  [[nodiscard]] bool scarce() const { return used_ > limit_ / 2 || total_ >= limit_; }

 private:
  [[nodiscard]] std::shared_ptr<Block> cut(const std::shared_ptr<Segment>& segment,
                                           std::size_t bytes);
  [[nodiscard]] std::shared_ptr<Block> cut_anywhere(std::size_t bytes);
  [[nodiscard]] Result<void> grow(std::size_t bytes, Force force);
  void reclaim_some();
  bool reclaim_at(std::size_t index);
  void drop_empty_segments(TimePoint unused_since);

  std::size_t limit_;
  const Clock& clock_;  // the proxy's
  std::vector<std::shared_ptr<Segment>> segments_;
  std::vector<std::shared_ptr<Block>> blocks_;  // all that are in use, in no order
  std::vector<std::uint32_t> retired_;          // and not yet told
  Deadline next_retirement_;
  std::size_t cursor_ = 0;
  std::size_t total_ = 0;
  std::size_t used_ = 0;
  std::uint32_t next_segment_ = 1;
};

}  // namespace muster::comm::shm
