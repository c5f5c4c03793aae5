#include "muster/net/errc.h"

#include "muster/base/error_category.h"

namespace muster::net {
namespace {

const char* text(Errc errc) {
  switch (errc) {
    case Errc::unreachable: return "the server cannot be reached";
    case Errc::timeout: return "the server did not answer in time";
    case Errc::auth: return "the server refused the password";
    case Errc::protocol: return "the server broke the protocol";
    case Errc::server_error: return "the server answered with an error";
    case Errc::invalid_address: return "the address cannot be read";
    case Errc::closed: return "the connection was closed";
    case Errc::too_large: return "the message is too large";
  }
  return "unknown network error";
}

}  // namespace

std::error_code make_error_code(Errc errc) {
  static const ErrorCategory<Errc> category("muster.net", text);
  return {static_cast<int>(errc), category};
}

}  // namespace muster::net
