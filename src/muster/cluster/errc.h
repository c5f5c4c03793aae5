#pragma once

#include <system_error>

namespace muster::cluster {

/// The expected failures of describing, placing and running jobs.
enum class Errc {
  invalid_spec = 1,  ///< a description that is not valid; the message has one line per error
  unreadable,        ///< a file that cannot be read or written
  not_found,         ///< no job, component or cluster of this name
  already_exists,    ///< the name is taken
  not_running,       ///< there is no agent, or it is gone
  already_running,   ///< there is one already
  unavailable,       ///< something that is needed is not installed or not reachable
  timeout,           ///< not done before the deadline
  conflict,          ///< somebody else changed it meanwhile
  corrupt_state,     ///< what was stored cannot be read back
  component_failed,  ///< a component could not be started, or failed
};

std::error_code make_error_code(Errc errc);

}  // namespace muster::cluster

template <>
struct std::is_error_code_enum<muster::cluster::Errc> : std::true_type {};
