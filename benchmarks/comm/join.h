#pragma once

#include <string>

#include "partner.h"

namespace muster::bench {

/// Milliseconds from the moment when the last of four processes joins until each of them has heard
/// from all others.
[[nodiscard]] double time_to_join(const std::string& meeting_place);

/// One of those processes.
void join_and_greet(const std::string& meeting_place, const std::string& name, Control control);

}  // namespace muster::bench
