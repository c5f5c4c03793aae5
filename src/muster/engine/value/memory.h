#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace muster::engine {

/// Gives out blocks that may stay where they are when a kernel has filled them, such as those of a
/// chunk store. Thread-safe.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// At least `bytes`, aligned as those of Memory; null where it has none now.
  [[nodiscard]] virtual std::shared_ptr<std::byte> take(std::size_t bytes) = 0;
};

/// Where chunks get their memory. Counts what is in use, and keeps freed blocks for the next chunk
/// of a like size, because fresh pages cost more than most kernels. It does not enforce its limit:
/// the executor admits tasks by it. Thread-safe; blocks keep it alive.
class Memory : public std::enable_shared_from_this<Memory> {
 public:
  /// `limit`: the bytes that may be in use; what is kept for reuse counts as free.
  /// Large blocks come from `source` as long as it has some, and are not counted here.
  [[nodiscard]] static std::shared_ptr<Memory> make(std::size_t limit,
                                                    std::shared_ptr<BlockSource> source = {});
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// At least `bytes`, aligned for every vector instruction, not zeroed. Throws ArrayError
  /// (memory) when the system has none.
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes);

  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }
  /// The most that was in use at a time since the last call of `reset_peak`.
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }
  void reset_peak() noexcept { peak_ = in_use_.load(); }

 private:
  Memory(std::size_t limit, std::shared_ptr<BlockSource> source)
      : limit_(limit), source_(std::move(source)) {}
  void give_back(std::byte* block, std::size_t bytes) noexcept;

  const std::size_t limit_;
  const std::shared_ptr<BlockSource> source_;  ///< null for none
  std::atomic<std::size_t> in_use_ = 0;
  std::atomic<std::size_t> peak_ = 0;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> free_;  ///< by size; `mutex_` must be held
  std::size_t kept_ = 0;                                 ///< bytes in `free_`
};

}  // namespace muster::engine
