#pragma once

#include "muster/base/result.h"
#include "muster/comm/message/message.h"

namespace muster::comm {

/// The life of a session, as one side sees it: a task goes request → receive → complete (the
/// receipt may be left out), a notification request → receive. Says whether `next` may follow
/// `now`: `Errc::session_closed` when the session has ended, `Errc::session_type` when the move is
/// not one of that session type's.
[[nodiscard]] Result<void> check_move(SessionType type, SessionStage now, SessionStage next);

/// True in the last stage of a session.
[[nodiscard]] constexpr bool is_closed(SessionType type, SessionStage stage) {
  return stage == (type == SessionType::task ? SessionStage::complete : SessionStage::receive);
}

/// The stage of a reply: an acknowledgement is a receipt; a task is completed otherwise.
[[nodiscard]] constexpr SessionStage reply_stage(SessionType type, bool acknowledge) {
  return type == SessionType::task && !acknowledge ? SessionStage::complete : SessionStage::receive;
}

}  // namespace muster::comm
