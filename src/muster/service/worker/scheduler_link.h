#pragma once

#include <cstdint>
#include <optional>

#include "muster/base/clock.h"
#include "muster/engine/schedule/ids.h"
#include "muster/service/protocol/orders.h"

namespace muster::service {

/// Decides when a worker registers with the scheduler, and whose orders count. It knows no message
/// and no clock. Not thread-safe.
class SchedulerLink {
 public:
  struct Place {
    std::uint64_t epoch = 0;
    engine::WorkerId worker;
    friend bool operator==(const Place&, const Place&) = default;
  };

  /// How long an answer may take before the worker asks again.
  static constexpr Duration kPatience = std::chrono::seconds(3);

  /// Whether to register now; `there`: the scheduler is a member of the group. From then on no
  /// order counts until the answer is here: they were given before the scheduler read what this
  /// worker holds and runs.
  [[nodiscard]] bool begin(TimePoint now, bool there);
  /// The answer to the registration that began last.
  void registered(Place place);
  /// What the scheduler believes; ignored while an answer is on its way.
  void heard(const Beat& beat);
  /// Reports were lost.
  void broken();

  /// Whether orders signed like this are for us.
  [[nodiscard]] bool follows(Place signature) const { return place_ && *place_ == signature; }
  [[nodiscard]] const std::optional<Place>& place() const { return place_; }
  /// The last place it had, also while it has none.
  [[nodiscard]] const std::optional<Place>& before() const { return before_; }

 private:
  std::optional<Place> place_;
  std::optional<Place> before_;
  std::optional<TimePoint> asked_;  ///< when it registered, while there is no answer
};

}  // namespace muster::service
