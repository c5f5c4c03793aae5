#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>

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

/// A tag as it is given to a call: its text, and where a typed one comes from (see
/// Message::tag_origin).
struct Tag {
  Name text;
  Name origin;

  Tag() = default;
  template <std::convertible_to<Name> Text>
  Tag(Text&& of) : text(std::forward<Text>(of)) {}  // NOLINT(google-explicit-constructor)
  Tag(Name of, Name from) : text(std::move(of)), origin(std::move(from)) {}

  [[nodiscard]] bool empty() const { return text.empty(); }
};

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
