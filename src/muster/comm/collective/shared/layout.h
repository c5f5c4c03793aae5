#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace muster::comm::collective::shared {

// What lies in the memory that the ranks of one host share. See docs/internals/collectives.md.

inline constexpr std::uint64_t kMagic = 0x3247'5250'5453'554d;  // "MUSTPRG2"

/// Tags that have a channel of their own in the segment; calls with further tags go by messages.
inline constexpr std::size_t kChannels = 16;
/// How many steps a rank may be ahead of another: with more ranks than cores each turn costs the
/// others' turns on the processor.
inline constexpr std::size_t kRing = 64;
/// The same for steps with staging. With half as many, a slot that is written again is still in the
/// reader's own cache, out of which it has to be taken: that took up to twice as long.
inline constexpr std::size_t kSlots = 32;
/// What one rank can give in one step.
inline constexpr std::size_t kStepBytes = std::size_t{32} << 10;
/// Slots of staging lie this far apart: a little more than their size, or all of them would compete
/// for the same lines of the cache.
inline constexpr std::size_t kSlotBytes = kStepBytes + 256;
/// What one rank can give without staging.
inline constexpr std::size_t kInlineBytes = 232;
/// Blocks from this size on can be read straight out of the other process, where that is allowed:
/// one copy instead of two, at the price of a system call that looks up every page.
inline constexpr std::size_t kLendFrom = std::size_t{64} << 10;
/// Until ranks know better, blocks from this size on are staged all the same: who gives copies
/// while the others do, and they write past the cache.
inline constexpr std::size_t kStageFrom = std::size_t{1} << 20;
/// Powers of two, from `kLendFrom` on, for which ranks find apart which way is better; and the
/// kinds of calls that there are with all operations.
inline constexpr std::size_t kLoanSizes = 7;
inline constexpr std::size_t kLoanKinds = 9 * kLoanSizes;
inline constexpr std::size_t kMostRanks = 512;
inline constexpr std::size_t kMostCores = 1024;

/// What one rank says at one step, written by that rank only. `stamp` is written last. Of a payload
/// of up to 40 bytes nobody reads more than one line of cache.
struct alignas(256) Line {
  std::atomic<std::uint64_t> stamp;  ///< the position of the step, plus one
  std::atomic<std::uint64_t> what;   ///< the call's signature, in two words
  std::atomic<std::uint64_t> count;
  std::byte payload[kInlineBytes];
};
static_assert(sizeof(Line) == 256);

struct alignas(64) Done {
  std::atomic<std::uint64_t> steps;  ///< positions that the rank has finished with
  /// Kinds of calls in which others should not give in the usual way, a bit each; see `Loan`.
  std::atomic<std::uint64_t> unusual;
};

/// One rank's part of one channel, but for the staging.
struct ChannelControl {
  Line lines[kRing];
  Done done;
};

/// What a rank found when it broke the group. Written by that rank only, before it does.
struct alignas(64) Report {
  std::uint64_t mine[2];
  std::uint64_t theirs[2];
};

/// How other processes find what a rank lends them.
struct alignas(64) Owner {
  std::int64_t pid;
  std::uint64_t proof;     ///< a random number, in memory of the process,
  std::uint64_t proof_at;  ///< and where it lies there: who finds it reads the right process
};

struct RankControl {
  ChannelControl channels[kChannels];
  Report report;
  Owner owner;
};

/// Where a rank sleeps.
struct alignas(64) Bell {
  std::atomic<std::uint32_t> rings;
  std::atomic<std::uint32_t> asleep;
};

/// Why a group is of no use any more.
enum class Break : std::uint8_t { none, lost, left, mismatch, cancelled, function };

/// Written by all ranks, rarely.
struct Header {
  std::uint64_t magic;
  std::uint32_t ranks;
  std::uint32_t step_bytes;
  std::uint64_t arena_bytes;  ///< of one rank
  /// Break, the rank that is the reason, the rank that says so; see `pack`.
  alignas(64) std::atomic<std::uint64_t> broken;
  /// How many ranks have tried to read each other's memory, and whether one could not.
  alignas(64) std::atomic<std::uint32_t> tried;
  std::atomic<std::uint32_t> cannot_read;
  /// How many threads sleep on a bell.
  alignas(64) std::atomic<std::uint32_t> sleepers;
  /// The cores on which ranks may run.
  alignas(64) std::atomic<std::uint64_t> cores[kMostCores / 64];
  /// The tag of each channel, plus one; 0 while it has none.
  alignas(64) std::atomic<std::uint32_t> tags[kChannels];
  alignas(64) std::atomic<std::uint64_t> lost[kMostRanks / 64];
  std::atomic<std::uint64_t> left[kMostRanks / 64];
  Bell bells[kMostRanks];
};

struct Verdict {
  Break why = Break::none;
  int rank = 0;
  int reporter = 0;

  [[nodiscard]] std::uint64_t packed() const {
    return static_cast<std::uint64_t>(why) << 32 | static_cast<std::uint64_t>(rank) << 16 |
           static_cast<std::uint64_t>(reporter);
  }
  [[nodiscard]] static Verdict unpack(std::uint64_t packed) {
    return {static_cast<Break>(packed >> 32), static_cast<int>(packed >> 16 & 0xffff),
            static_cast<int>(packed & 0xffff)};
  }
};

}  // namespace muster::comm::collective::shared
