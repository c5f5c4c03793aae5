#include "muster/service/errc.h"

#include "muster/base/error_category.h"

namespace muster::service {
namespace {

const char* text(Errc errc) {
  switch (errc) {
    case Errc::malformed: return "the message is malformed";
    case Errc::unreachable: return "the role does not answer";
    case Errc::refused: return "the role refused";
    case Errc::timeout: return "it was not done in time";
    case Errc::not_found: return "it is not there";
    case Errc::lost: return "the data is lost";
    case Errc::invalid: return "the arguments cannot be right";
    case Errc::closed: return "it has ended";
  }
  return "unknown cluster error";
}

}  // namespace

std::error_code make_error_code(Errc errc) {
  static const ErrorCategory<Errc> category("muster.service", text);
  return {static_cast<int>(errc), category};
}

}  // namespace muster::service
