#pragma once

#include <sys/types.h>
#include <vector>

namespace muster::cluster {

/// All processes below one, nearest first, as they are at the moment. Those that fork meanwhile may
/// be missed: ask again until there are none.
[[nodiscard]] std::vector<pid_t> descendants(pid_t process);

}  // namespace muster::cluster
