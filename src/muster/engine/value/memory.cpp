#include "muster/engine/value/memory.h"

#include <cstdlib>
#include <new>
#include <sys/mman.h>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/runtime/resources.h"

namespace muster::engine {

namespace {

constexpr std::size_t kAlignment = 64;
/// Smaller blocks are malloc's business: it is quick with them and they cost no page faults.
constexpr std::size_t kSmallestKept = 64 * 1024;

/// The system would promise more, and kill whoever fills it.
bool can_be_there(std::size_t bytes) {
  static const std::uint64_t most = usable_memory();
  return bytes <= most;
}

/// Sizes are rounded up to an eighth of their power of two, so that chunks which differ a little
/// share their blocks and at most an eighth is wasted.
std::size_t rounded(std::size_t bytes) {
  std::size_t unit = kAlignment;
  while (unit < bytes / 16) unit *= 2;
  return (bytes + unit - 1) / unit * unit;
}

/// Fresh memory costs a page fault for every four KiB, which is more than most kernels take to fill
/// them; with huge pages, one for every two MiB. Where the system has none, small ones come.
std::byte* fresh(std::size_t size) {
  constexpr std::size_t kHugePage = 2u << 20;
  const bool huge = size >= 2 * kHugePage;
  void* block = nullptr;
  if (::posix_memalign(&block, huge ? kHugePage : kAlignment, size) != 0) return nullptr;
  if (huge) (void)::madvise(block, size / kHugePage * kHugePage, MADV_HUGEPAGE);
  return static_cast<std::byte*>(block);
}

/// Blocks of this size are filled with huge pages, which cost little beside what is done with them.
constexpr std::size_t kLarge = 64u << 20;

/// Frees large blocks of other sizes than `wanted` until no more than `most` bytes are kept.
void free_large(std::map<std::size_t, std::vector<std::byte*>>& kept, std::size_t& bytes,
                std::size_t most, std::size_t wanted) {
  for (auto sizes = kept.lower_bound(kLarge); sizes != kept.end(); ++sizes) {
    auto& [size, blocks] = *sizes;
    for (; size != wanted && !blocks.empty() && bytes > most; blocks.pop_back()) {
      std::free(blocks.back());
      bytes -= size;
    }
  }
}

}  // namespace

std::shared_ptr<Memory> Memory::make(std::size_t limit, std::shared_ptr<BlockSource> source) {
  return std::shared_ptr<Memory>(new Memory(limit, std::move(source)));
}

Memory::~Memory() {
  for (auto& [bytes, blocks] : free_)
    for (std::byte* block : blocks) std::free(block);
}

std::shared_ptr<std::byte> Memory::allocate(std::size_t bytes) {
  if (source_ && bytes >= kSmallestKept)
    if (auto block = source_->take(bytes)) return block;
  const std::size_t size = rounded(bytes == 0 ? 1 : bytes);
  std::byte* block = nullptr;
  if (size >= kSmallestKept) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = free_.find(size); found != free_.end() && !found->second.empty()) {
      block = found->second.back();
      found->second.pop_back();
      kept_ -= size;
    }
    // Whoever needs blocks of two sizes in turn does not need all of them at once: an eighth less
    // than the peak is taken for both together.
    const std::size_t rest = peak_ / 8 * 7;
    const std::size_t used = in_use_ + size;
    if (size >= kLarge && used + kept_ > rest)
      free_large(free_, kept_, rest > used ? rest - used : 0, size);
  }
  if (block == nullptr && can_be_there(size)) block = fresh(size);
  if (block == nullptr)
    throw ArrayError(Wrong::memory, fmt::format("no memory for a chunk of {} bytes", bytes));

  const std::size_t now = in_use_.fetch_add(size) + size;
  std::size_t peak = peak_;
  while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
  }
  return {block,
          [self = shared_from_this(), size](std::byte* gone) { self->give_back(gone, size); }};
}

void Memory::give_back(std::byte* block, std::size_t bytes) noexcept {
  in_use_.fetch_sub(bytes);
  if (bytes >= kSmallestKept) {
    const std::scoped_lock lock(mutex_);
    if (in_use_ + kept_ + bytes <= limit_) {
      free_[bytes].push_back(block);
      kept_ += bytes;
      return;
    }
    // Blocks of other sizes fill the budget: they go first.
    for (auto& [size, blocks] : free_) {
      for (std::byte* old : blocks) std::free(old);
      blocks.clear();
    }
    kept_ = 0;
  }
  std::free(block);
}

}  // namespace muster::engine
