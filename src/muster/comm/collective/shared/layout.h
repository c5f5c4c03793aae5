#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "muster/runtime/process_memory.h"

namespace muster::comm::collective::shared {

// What lies in the memory that the ranks of one host share. See docs/internals/collectives.md.

inline constexpr std::uint64_t kMagic = 0x3847'5250'5453'554d;  // "MUSTPRG8"

/// What memory is handed out in, and read ahead in.
inline constexpr std::size_t kPage = 4096;

/// Tags that have a channel of their own in the segment; calls with further tags go by messages.
inline constexpr std::size_t kChannels = 16;
/// How many steps a rank may be ahead of another: with more ranks than cores each turn costs the
/// others' turns on the processor.
inline constexpr std::size_t kRing = 64;
/// The same for steps with staging. All slots together are larger than the cache of a core: else
/// one that is written again is still in the reader's, out of which it has to be taken, and that
/// takes up to twice as long.
inline constexpr std::size_t kSlots = 64;
/// Of these, large calls in which every rank gives and takes use so many: they need the cache for
/// their data, and ranks are never far from each other.
inline constexpr std::size_t kFewSlots = 32;
inline constexpr std::size_t kFewSlotsFrom = std::size_t{2} << 20;
/// What one rank can give in one step.
inline constexpr std::size_t kStepBytes = std::size_t{32} << 10;
/// Slots of staging lie this far apart: a little more than their size, or all of them would compete
/// for the same lines of the cache.
inline constexpr std::size_t kSlotBytes = kStepBytes + 256;
/// What one rank can give without staging, with its line.
inline constexpr std::size_t kInlineBytes = 360;
/// Blocks from this size on can be read straight out of the other process, where that is allowed:
/// one copy instead of two, at the price of a system call that looks up every page.
inline constexpr std::size_t kLendFrom = std::size_t{16} << 10;
/// Powers of two, from `kLendFrom` to 64 MiB, for which ranks find apart which way is better: what
/// is best for blocks that lie in the cache is the worst for those of four times the size, up to
/// where nothing lies there any more. And the kinds of calls that there are with all operations.
inline constexpr std::size_t kLoanSizes = 13;
inline constexpr std::size_t kLoanKinds = 9 * kLoanSizes;
inline constexpr std::size_t kMostRanks = 512;
inline constexpr std::size_t kMostCores = 1024;

/// What a line has room for beside the stamp and the signature.
inline constexpr std::size_t kNoteBytes = 40;

/// What one rank says at one step, written by that rank only. `stamp` is written last. It is one
/// line of cache: of what fits into `note` nobody reads more.
struct alignas(128) Line {
  std::atomic<std::uint64_t> stamp;  ///< the position of the step, plus one
  std::atomic<std::uint64_t> what;   ///< the call's signature, in two words
  std::atomic<std::uint64_t> count;
  std::byte note[kNoteBytes];
};

/// What belongs to a line and does not fit into it.
struct alignas(128) Enclosure {
  std::byte bytes[kInlineBytes];
};
/// Enclosures of steps that follow each other lie so many places apart, so not in one page of
/// memory: processors read ahead within a page, and would take away what the next step is about to
/// write.
inline constexpr std::size_t kEnclosuresApart = 13;
static_assert(kEnclosuresApart % 2 == 1, "each step of a ring has a place of its own");
static_assert((kEnclosuresApart - 1) * sizeof(Enclosure) >= kPage);

/// What rooted calls with equal counts that fit into a line give, behind the slots of staging and
/// one right after the other: a seal of 8 bytes, which is written last, and the bytes. Room for a
/// ring of the largest, and for what is left free where the next one does not fit in before the
/// end.
inline constexpr std::size_t kSealBytes = sizeof(std::uint64_t);
inline constexpr std::size_t kPackedBytes = (kRing + 1) * (kSealBytes + kInlineBytes);
inline constexpr std::size_t kPackedStart = kSlots * kSlotBytes;
/// All of that.
inline constexpr std::size_t kStagingBytes = kPackedStart + kPackedBytes;

struct alignas(64) Done {
  std::atomic<std::uint64_t> steps;  ///< positions that the rank has finished with
};

/// How others should give in each kind of calls: a `Way`, plus one; 0 for the usual way.
struct alignas(64) Wishes {
  std::atomic<std::uint8_t> way[kLoanKinds];
};

/// What becomes of memory that was lent and cannot be read; see `Channel::decline`.
struct alignas(64) Declined {
  std::atomic<std::uint64_t> loan;     ///< that this rank could not read; see `Channel::loan`
  std::atomic<std::uint64_t> copied;   ///< one of its own, of which it lends a copy now,
  std::atomic<std::uint64_t> copy_at;  ///< and where that lies
};

/// One rank's part of one channel, but for the staging.
struct ChannelControl {
  Line lines[kRing];
  Enclosure enclosures[kRing];
  Done done;
  Wishes wishes;
  Declined declined;
};

/// Longer words are cut off.
inline constexpr std::size_t kReportBytes = 412;

/// What a rank found when it broke the group. Written by that rank only, before it does.
struct alignas(64) Report {
  std::uint64_t mine[2];
  std::uint64_t theirs[2];
  std::int32_t code;  ///< an Errc
  char words[kReportBytes];
};

/// How far a rank has come in making the group.
enum class Stage : std::uint32_t {
  away,
  here,   ///< it has told its `owner`
  tried,  ///< it has tried to read the others' memory
};

struct RankControl {
  ChannelControl channels[kChannels];
  Report report;
  alignas(64) ProcessMemory owner;  ///< how others find what it lends them
  std::atomic<Stage> stage;
};

/// Where a rank sleeps.
struct alignas(64) Bell {
  std::atomic<std::uint32_t> rings;
  std::atomic<std::uint32_t> asleep;
  /// The core on which the rank last waited, plus one, when there are more ranks than cores.
  std::atomic<std::uint32_t> core;
};

/// Why a group is of no use any more.
enum class Break : std::uint8_t {
  none,
  lost,
  left,
  mismatch,
  function,
  failed,
  told  ///< in words, in its report
};

/// Written by all ranks, rarely.
struct Header {
  std::uint64_t magic;
  std::uint32_t ranks;
  std::uint32_t step_bytes;
  std::uint64_t arena_bytes;  ///< of one rank
  /// Break, the rank that is the reason, the rank that says so; see `pack`.
  alignas(64) std::atomic<std::uint64_t> broken;
  /// Whether a rank could not read the others' memory.
  alignas(64) std::atomic<std::uint32_t> cannot_read;
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
