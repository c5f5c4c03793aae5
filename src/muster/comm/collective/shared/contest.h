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

/// How a rank gives a block: others read it out of its process, or it copies it to its staging.
enum class Way : std::uint8_t { lend, stage };

[[nodiscard]] constexpr Way other(Way way) { return way == Way::lend ? Way::stage : Way::lend; }

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
/// are copied by who gives while the others do, and they write past the cache.
[[nodiscard]] constexpr Way usual_way(std::size_t kind) {
  constexpr std::size_t kSmall = std::size_t{64} << 10;
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  const bool combines = is_reducing(static_cast<Operation>(kind / kLoanSizes));
  return !combines && block_of(kind) >= kSmall && block_of(kind) < kLarge ? Way::lend : Way::stage;
}

/// Finds the quicker way by trying. Which one it is depends on whether the cores of the ranks share
/// a cache, and a virtual machine may be moved at any time: so each way is tried for some calls,
/// and the better one is used, until it has become slow or for many calls; then both are tried
/// again.
///
/// What counts is the time of whole calls, with their waits: who waits for others that are late
/// learns little, but then it matters little, too.
class Contest {
 public:
  /// A `lap` is so many calls that ranks may be ahead of each other. A trial takes one until the
  /// caches are used to it, which does not count, and several times two, which even out who is
  /// ahead. The best two count, or a single interruption would decide; of small blocks, whose times
  /// vary more, the second best.
  explicit Contest(Way usual = Way::lend, std::uint32_t lap = 1) : usual_(usual), lap_(lap) {}
  [[nodiscard]] static Contest of(std::size_t kind) {
    const std::size_t lap = kSlots * kStepBytes / std::max(block_of(kind), kStepBytes);
    return Contest(usual_way(kind), std::max(1U, static_cast<std::uint32_t>(lap)));
  }

  /// The way for the next call.
  [[nodiscard]] Way wanted() const {
    if (tries(usual_)) return usual_;
    if (tries(other(usual_))) return other(usual_);
    return typical(Way::stage) < typical(Way::lend) ? Way::stage : Way::lend;
  }
  [[nodiscard]] bool tries() const { return tries(Way::lend) || tries(Way::stage); }
  /// For how many calls a way is tried.
  [[nodiscard]] std::uint32_t trial() const { return (is_brief() ? 9 : 5) * lap_; }

  /// A call was done, perhaps not in the way that is wanted by now.
  void note(Way way, Duration took) {
    if (tries(way)) {
      Side& side = sides_[static_cast<std::size_t>(way)];
      if (++side.calls > lap_) side.meter.note(took, lap_);
    } else if (!tries() && way == wanted()) {
      watch(took);
    }
  }

  /// For how many times as long as a trial its result is used. The worse way may take four times as
  /// long: trying it costs 3 % then.
  static constexpr std::uint32_t kPeriod = 100;
  /// The same for the first result: a program's first calls find little at hand.
  static constexpr std::uint32_t kFirstPeriod = 4;
  /// And for how many times at least, even when calls have become slow. Those who wait for late
  /// ranks see them as slow, too: whenever trying again changed nothing, it is twice as many.
  static constexpr std::uint32_t kLeast = 2;
  /// From so many calls in a lap on there is time for longer trials.
  static constexpr std::uint32_t kBriefLap = 8;

 private:
  /// How long two laps take, at best and at second best.
  struct Meter {
    std::uint32_t calls = 0;
    Duration two_laps{};
    Duration least = Duration::max();
    Duration second = Duration::max();

    void note(Duration call, std::uint32_t lap) {
      two_laps += call;
      if (++calls % (2 * lap) != 0) return;
      second = std::min(second, std::max(least, two_laps));
      least = std::min(least, two_laps);
      two_laps = {};
    }
  };
  struct Side {
    std::uint32_t calls = 0;
    Meter meter;  // of all calls but the first lap
  };
  [[nodiscard]] const Side& side(Way way) const { return sides_[static_cast<std::size_t>(way)]; }
  [[nodiscard]] bool tries(Way way) const { return side(way).calls < trial(); }
  /// Whether many calls take as long as a few of the largest.
  [[nodiscard]] bool is_brief() const { return lap_ >= kBriefLap; }
  [[nodiscard]] Duration typical(Way way) const {
    return is_brief() ? side(way).meter.second : side(way).meter.least;
  }

  void watch(Duration took) {
    recent_.note(took, lap_);
    if (++calls_ % (2 * trial()) != 0) return;
    const bool slow = recent_.least > 3 * side(wanted()).meter.least / 2;
    recent_ = {};
    const std::uint32_t period = before_ ? kPeriod : kFirstPeriod;
    if (calls_ < period * trial() && !(slow && calls_ >= least_ * trial())) return;
    Contest next(usual_, lap_);
    next.before_ = wanted();
    if (before_ == wanted()) next.least_ = std::min(2 * least_, kPeriod);
    *this = next;
  }

  Way usual_;
  std::uint32_t lap_;
  std::array<Side, 2> sides_;
  std::optional<Way> before_;  // what was wanted before the last trials
  std::uint32_t least_ = kLeast;
  std::uint32_t calls_ = 0;  // since the last trials
  Meter recent_;             // the last of them
};

}  // namespace muster::comm::collective::shared
