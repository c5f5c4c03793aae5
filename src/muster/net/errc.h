#pragma once

#include <system_error>

namespace muster::net {

/// The expected failures of talking to servers.
enum class Errc {
  unreachable = 1,  ///< no connection, or it broke
  timeout,          ///< no answer before the deadline
  auth,             ///< the server wants a password or refuses ours
  protocol,         ///< the answer is not what the protocol allows
  server_error,     ///< the server answered with an error
  invalid_address,  ///< an address that cannot be read
  closed,           ///< the other end, or we, ended it as agreed
  too_large,        ///< more bytes than may be
};

std::error_code make_error_code(Errc errc);

}  // namespace muster::net

template <>
struct std::is_error_code_enum<muster::net::Errc> : std::true_type {};
