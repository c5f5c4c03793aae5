#include "muster/comm/session/session.h"

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm {

Result<void> check_move(SessionType type, SessionStage now, SessionStage next) {
  if (is_closed(type, now)) {
    return fail(Errc::session_closed,
                fmt::format("the {} session has ended; '{}' cannot follow '{}'", to_string(type),
                            to_string(next), to_string(now)));
  }
  const bool known = type == SessionType::task || next != SessionStage::complete;
  if (!known || next <= now) {
    return fail(Errc::session_type, fmt::format("in a {} session '{}' cannot follow '{}'",
                                                to_string(type), to_string(next), to_string(now)));
  }
  return {};
}

}  // namespace muster::comm
