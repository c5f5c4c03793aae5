#pragma once

#include <chrono>
#include <cstdint>

namespace muster {

/// Since 1970, for what is stored or shown to people. It may jump: waits use a `Clock`.
template <class Unit = std::chrono::milliseconds>
[[nodiscard]] std::int64_t wall_clock() {
  return std::chrono::duration_cast<Unit>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace muster
