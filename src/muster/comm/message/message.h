#pragma once

#include <cstdint>
#include <string_view>

#include "muster/base/name.h"
#include "muster/comm/message/body.h"
#include "muster/comm/message/ids.h"

namespace muster::comm {

/// A task is answered with a result, a notification at most with a receipt.
enum class SessionType : std::uint8_t { task, notification };

/// task: request → receive → complete; notification: request → receive.
enum class SessionStage : std::uint8_t { request, receive, complete };

[[nodiscard]] std::string_view to_string(SessionType type);
[[nodiscard]] std::string_view to_string(SessionStage stage);

/// What components pass to each other. A plain value: the proxy fills in the ids and the source
/// when it is sent, and the source is always the name of the proxy that really sent it.
struct Message {
  Name tag;
  Name source;
  Name destination;
  Body body;
  SessionId session_id;
  MessageId message_id;
  SessionType session_type = SessionType::task;
  SessionStage session_stage = SessionStage::request;
  /// Where a typed tag comes from ("package.module:Color.red" for a Python Enum), so that the
  /// receiver can restore it; mostly empty.
  Name tag_origin;
};

}  // namespace muster::comm
