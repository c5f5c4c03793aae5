#pragma once

#include <system_error>

namespace muster::service {

/// The expected failures of a cluster.
enum class Errc {
  malformed = 1,  ///< a message that is not what its tag says
  unreachable,    ///< a role that does not answer
  refused,        ///< a role that says no
  timeout,        ///< not done in time
  not_found,      ///< a session, execution, tensor or worker that is not there
  lost,           ///< data that no worker has any more and nobody can compute
  invalid,        ///< options or arguments that cannot be right
  closed,         ///< the role or session has ended
};

std::error_code make_error_code(Errc errc);

}  // namespace muster::service

template <>
struct std::is_error_code_enum<muster::service::Errc> : std::true_type {};
