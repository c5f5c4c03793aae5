#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "muster/base/clock.h"
#include "muster/comm/collective/call.h"
#include "muster/comm/collective/shared/layout.h"

namespace muster::comm::collective::shared {

/// How a rank gives a block: others read it out of its process, or it copies it to its staging; or
/// it does so past the cache, which others then need not take it out of.
enum class Way : std::uint8_t { lend, stage, stream };
inline constexpr std::array kWays{Way::lend, Way::stage, Way::stream};

/// Calls for which a way is found together: an operation, with blocks of about a size.
[[nodiscard]] inline std::size_t kind_of(Operation operation, std::size_t block) {
  const auto size = static_cast<std::size_t>(std::bit_width(block / kLendFrom) - 1);
  return static_cast<std::size_t>(operation) * kLoanSizes + std::min(size, kLoanSizes - 1);
}
[[nodiscard]] constexpr std::size_t block_of(std::size_t kind) {
  return kLendFrom << kind % kLoanSizes;
}
/// How long a call would take with the smallest block of its kind: sizes may come in any order.
[[nodiscard]] inline Duration for_smallest(std::size_t kind, std::size_t block, Duration took) {
  const double share = static_cast<double>(block_of(kind)) / static_cast<double>(block);
  return Duration(static_cast<Duration::rep>(static_cast<double>(took.count()) * share));
}
/// Until ranks know better. Small blocks are copied sooner than the kernel has begun; large ones
/// are copied by who gives while the others do, past the cache, which is never far from the best.
[[nodiscard]] constexpr Way usual_way(std::size_t kind, bool may_lend) {
  constexpr std::size_t kSmall = std::size_t{64} << 10;
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  if (block_of(kind) >= kLarge) return Way::stream;
  const bool combines = is_reducing(static_cast<Operation>(kind / kLoanSizes));
  return may_lend && !combines && block_of(kind) >= kSmall ? Way::lend : Way::stage;
}

/// Finds the quickest way by trying. Which one it is depends on whether the cores of the ranks
/// share a cache, and a virtual machine may be moved at any time: so each way is tried for some
/// calls, and the best one is used, until it has become slow or for many calls; then all are tried
/// again, beginning with that one. A way that is far behind those tried before is given up early.
///
/// What counts is the time of whole calls, with their waits: who waits for others that are late
/// learns little, but then it matters little, too.
class Contest {
 public:
  /// A `lap` is so many calls that ranks may be ahead of each other. A trial takes one until the
  /// caches are used to it, which does not count, and several times two, which even out who is
  /// ahead. The best two count, or a single interruption would decide; of small blocks, whose times
  /// vary more, the second best.
  explicit Contest(Way first = Way::lend, std::uint32_t lap = 1, bool may_lend = true)
      : first_(first), lap_(lap), may_lend_(may_lend) {}
  [[nodiscard]] static Contest of(std::size_t kind, bool may_lend) {
    const std::size_t lap = kSlots * kStepBytes / std::max(block_of(kind), kStepBytes);
    return Contest(usual_way(kind, may_lend), std::max(1U, static_cast<std::uint32_t>(lap)),
                   may_lend);
  }

  /// The way for the next call.
  [[nodiscard]] Way wanted() const {
    if (tries(first_)) return first_;
    const auto tried = std::ranges::find_if(kWays, [&](Way way) { return tries(way); });
    return tried != kWays.end() ? *tried : best();
  }
  [[nodiscard]] bool tries() const {
    return std::ranges::any_of(kWays, [&](Way way) { return tries(way); });
  }
  /// For how many calls a way is tried: of small blocks longer at the first time, because a
  /// program's first calls find little at hand.
  [[nodiscard]] std::uint32_t trial() const { return (is_brief() && !before_ ? 9 : 5) * lap_; }
  /// And for how many at least.
  [[nodiscard]] std::uint32_t least_trial() const {
    return before_ ? std::max(2 * lap_, 3U) : 3 * lap_;
  }

  /// A call was done, perhaps not in the way that is wanted by now.
  void note(Way way, Duration took) {
    if (tries(way)) {
      Side& side = sides_[static_cast<std::size_t>(way)];
      if (++side.calls > lap_) side.meter.note(took, lap_);
      const std::uint32_t glance =
          before_ ? std::min(lap_ + kGlance, least_trial()) : least_trial();
      if (side.calls == glance || side.calls == least_trial())
        side.hopeless = is_far_behind(side.meter.call);
    } else if (!tries() && way == wanted()) {
      watch(took);
    }
  }

  /// For how many times as long as a trial its result is used. Some hosts move the cores of a
  /// virtual machine every second or so, and what was the best way is half as fast as another then.
  /// A way that takes not quite twice as long costs 4 % to try.
  static constexpr std::uint32_t kPeriod = 48;
  /// The same for the first result.
  static constexpr std::uint32_t kFirstPeriod = 4;
  /// And for how many times at least, even when calls have become slow. Those who wait for late
  /// ranks see them as slow, too: whenever trying again changed nothing, it is twice as many.
  static constexpr std::uint32_t kLeast = 2;
  /// A way that is tried again and far behind is given up so many calls after the first lap: where
  /// cores share no cache, staging takes four times as long as lending. Not in that lap, in which
  /// ranks that are ahead still give in the way that was tried before.
  static constexpr std::uint32_t kGlance = 4;
  /// From so many calls in a lap on there is time for longer trials.
  static constexpr std::uint32_t kBriefLap = 8;

 private:
  /// How long two laps take, at best and at second best, and how long a call does at best.
  struct Meter {
    std::uint32_t calls = 0;
    Duration call = Duration::max();
    Duration two_laps{};
    Duration least = Duration::max();
    Duration second = Duration::max();

    void note(Duration took, std::uint32_t lap) {
      call = std::min(call, took);
      two_laps += took;
      if (++calls % (2 * lap) != 0) return;
      second = std::min(second, std::max(least, two_laps));
      least = std::min(least, two_laps);
      two_laps = {};
    }
  };
  struct Side {
    std::uint32_t calls = 0;
    Meter meter;  // of all but the first lap
    bool hopeless = false;
  };
  [[nodiscard]] const Side& side(Way way) const { return sides_[static_cast<std::size_t>(way)]; }
  [[nodiscard]] bool tries(Way way) const {
    return side(way).calls < trial() && !side(way).hopeless && (may_lend_ || way != Way::lend);
  }
  /// Whether many calls take as long as a few of the largest.
  [[nodiscard]] bool is_brief() const { return lap_ >= kBriefLap; }
  [[nodiscard]] Duration typical(Way way) const {
    return is_brief() && !side(way).hopeless ? side(way).meter.second : side(way).meter.least;
  }
  [[nodiscard]] Way best() const {
    return *std::ranges::min_element(kWays, {}, [&](Way way) { return typical(way); });
  }
  /// Even when not a single call was interrupted.
  [[nodiscard]] bool is_far_behind(Duration least_call) const {
    return std::ranges::any_of(kWays, [&](Way way) {
      return side(way).calls >= trial() && least_call > typical(way) / lap_;
    });
  }

  void watch(Duration took) {
    recent_.note(took, lap_);
    if (++calls_ % (2 * trial()) != 0) return;
    const bool slow = recent_.least > 3 * side(wanted()).meter.least / 2;
    recent_ = {};
    const std::uint32_t period = before_ ? kPeriod : kFirstPeriod;
    if (calls_ < period * trial() && !(slow && calls_ >= least_ * trial())) return;
    Contest next(wanted(), lap_, may_lend_);
    next.before_ = wanted();
    if (before_ == wanted()) next.least_ = std::min(2 * least_, kPeriod);
    *this = next;
  }

  Way first_;  // to be tried
  std::uint32_t lap_;
  bool may_lend_;
  std::array<Side, kWays.size()> sides_;
  std::optional<Way> before_;  // what was wanted before the last trials
  std::uint32_t least_ = kLeast;
  std::uint32_t calls_ = 0;  // since the last trials
  Meter recent_;             // the last of them
};

}  // namespace muster::comm::collective::shared
