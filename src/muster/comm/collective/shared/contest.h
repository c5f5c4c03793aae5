#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

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
[[nodiscard]] constexpr Way usual_way(std::size_t kind) {
  return block_of(kind) < kStageFrom ? Way::lend : Way::stage;
}

/// Finds the quicker way by trying. Which one it is depends on whether the cores of the ranks share
/// a cache, and a virtual machine may be moved at any time: so each way is tried for some calls,
/// the better one is used for many, and then both are tried again.
///
/// What counts is the time of whole calls, with their waits: who waits for others that are late
/// learns little, but then it matters little, too.
class Contest {
 public:
  /// A `lap` is so many calls that ranks may be ahead of each other. A trial takes three: one until
  /// the caches are used to it, which does not count, and two that even out who is ahead.
  explicit Contest(Way usual = Way::lend, std::uint32_t lap = 1) : usual_(usual), lap_(lap) {}
  [[nodiscard]] static Contest of(std::size_t kind) {
    const std::size_t lap = kSlots * kStepBytes / block_of(kind);
    return Contest(usual_way(kind), std::max(2U, static_cast<std::uint32_t>(lap)));
  }

  /// The way for the next call.
  [[nodiscard]] Way wanted() const {
    if (tries(usual_)) return usual_;
    if (tries(other(usual_))) return other(usual_);
    return side(Way::stage).took < side(Way::lend).took ? Way::stage : Way::lend;
  }
  /// Whether it matters how long the next call takes.
  [[nodiscard]] bool tries() const { return tries(Way::lend) || tries(Way::stage); }
  /// For how many calls a way is tried.
  [[nodiscard]] std::uint32_t trial() const { return 3 * lap_; }

  /// A call was done, perhaps not in the way that is wanted by now.
  void note(Way way, Duration took) {
    if (!tries()) {
      if (++calls_ == kPeriod * trial()) *this = Contest(usual_, lap_);
    } else if (tries(way)) {
      Side& side = sides_[static_cast<std::size_t>(way)];
      if (++side.calls > lap_) side.took += took;
    }
  }

  /// For how many times as long as a trial its result is used. The worse way may take four times as
  /// long: trying it costs 3 % then.
  static constexpr std::uint32_t kPeriod = 100;

 private:
  struct Side {
    std::uint32_t calls = 0;
    Duration took{};
  };
  [[nodiscard]] const Side& side(Way way) const { return sides_[static_cast<std::size_t>(way)]; }
  [[nodiscard]] bool tries(Way way) const { return side(way).calls < trial(); }

  Way usual_;
  std::uint32_t lap_;
  std::array<Side, 2> sides_;
  std::uint32_t calls_ = 0;  // since the last trial
};

}  // namespace muster::comm::collective::shared
