#pragma once

#include <poll.h>
#include <span>

#include "muster/base/clock.h"

namespace muster {

/// poll(2) until the deadline; true if one of the descriptors is ready. May return false early (a
/// signal).
[[nodiscard]] bool poll_until(std::span<pollfd> slots, TimePoint deadline);

}  // namespace muster
