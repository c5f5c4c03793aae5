#include "muster/cluster/errc.h"

#include "muster/base/error_category.h"

namespace muster::cluster {
namespace {

const char* text(Errc errc) {
  switch (errc) {
    case Errc::invalid_spec: return "the description is not valid";
    case Errc::unreadable: return "the file cannot be read or written";
    case Errc::not_found: return "there is nothing of this name";
    case Errc::already_exists: return "the name is taken";
    case Errc::not_running: return "it does not run";
    case Errc::already_running: return "it runs already";
    case Errc::unavailable: return "something that is needed is not there";
    case Errc::timeout: return "it was not done in time";
    case Errc::conflict: return "somebody else changed it meanwhile";
    case Errc::corrupt_state: return "what was stored cannot be read back";
    case Errc::component_failed: return "a component failed";
  }
  return "unknown cluster error";
}

}  // namespace

std::error_code make_error_code(Errc errc) {
  static const ErrorCategory<Errc> category("muster.cluster", text);
  return {static_cast<int>(errc), category};
}

}  // namespace muster::cluster
