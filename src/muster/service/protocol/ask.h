#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/comm/message/body.h"

namespace muster::service {

/// A question to a role: a verb of the table in README.md, arguments, and bytes where it needs
/// them. What REST offers is mostly this, passed on.
struct Ask {
  std::string verb;
  nlohmann::json arguments = nlohmann::json::object();
  Buffer payload;
};

/// `status` as in HTTP: 200, or 4xx and 5xx with {"error": "..."} (and "kind": ValueError,
/// TypeError, IndexError, MemoryError, TimeoutError, RuntimeError where Python should raise that).
struct Answer {
  int status = 200;
  nlohmann::json body = nlohmann::json::object();
  Buffer payload;
};

[[nodiscard]] comm::Body encode(const Ask& ask);
[[nodiscard]] comm::Body encode(const Answer& answer);
/// Fail with a message for people where the body is not one of these.
[[nodiscard]] Result<Ask> read_ask(const comm::Body& body);
[[nodiscard]] Result<Answer> read_answer(const comm::Body& body);

}  // namespace muster::service
