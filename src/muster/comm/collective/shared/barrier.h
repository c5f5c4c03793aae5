#pragma once

#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// Barrier. Every rank speaks once and waits until all have spoken.
///
/// Steps: 1. Bytes: none but the line of each rank, read by all others.
struct Barrier {
  explicit Barrier(Channel& channel, const Call& call)
      : task(channel, call), needs_to(task.ranks) {}

  void give() const {}
  void take() const {}

  Task task;
  Parcel parcel;  // none
  static constexpr bool gives = true;
  static constexpr int needs_from = 0;
  int needs_to;
};

}  // namespace muster::comm::collective::shared
