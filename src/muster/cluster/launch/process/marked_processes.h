#pragma once

#include <string_view>
#include <sys/types.h>
#include <vector>

namespace muster::cluster {

/// The processes of this user whose environment holds a variable that begins with `mark`, such as
/// "MUSTER_ATTEMPT=cluster/". What a component starts inherits its environment, so this finds what
/// nobody parents any more.
[[nodiscard]] std::vector<pid_t> marked_processes(std::string_view mark);

/// Kills them, and those they start meanwhile. False if some are left after all.
bool kill_marked_processes(std::string_view mark);

}  // namespace muster::cluster
