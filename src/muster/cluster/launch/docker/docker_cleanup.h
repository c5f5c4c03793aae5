#pragma once

#include <string_view>

namespace muster::cluster {

/// Removes the containers whose label `muster.attempt` begins with this, running or not. Does
/// nothing without an engine.
void remove_containers(std::string_view attempt_prefix);

}  // namespace muster::cluster
