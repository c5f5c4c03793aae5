#pragma once

#include <string>

namespace muster {

/// Equal in two processes that can share memory and reach each other's abstract sockets: boot id
/// and network namespace. `MUSTER_HOST_ID` overrides it.
[[nodiscard]] std::string host_id();

/// What people call this host.
[[nodiscard]] std::string host_name();

/// Equal only within one process; differs after fork.
[[nodiscard]] std::string process_id();

/// In which namespace this process's pid counts.
[[nodiscard]] std::string pid_namespace();

}  // namespace muster
