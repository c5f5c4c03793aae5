#pragma once

#include <string>
#include <string_view>

#include "muster/engine/errors.h"

namespace muster::service {

/// The exception that Python raises: "ValueError", "MemoryError"; "RuntimeError" for others.
[[nodiscard]] std::string_view kind_of(engine::Wrong wrong);
/// `Wrong::other` for a name that is none of ours.
[[nodiscard]] engine::Wrong wrong_of(std::string_view kind);

/// What a worker says of a task that failed (TaskFailed::message): "ValueError: text".
[[nodiscard]] std::string failure_text(engine::Wrong wrong, std::string_view text);

struct Failure {
  engine::Wrong wrong = engine::Wrong::other;
  std::string text;  ///< for people
};
/// Reads that, or the scheduler's report around it ("[sum] task 3 … failed on worker 1: …").
[[nodiscard]] Failure read_failure(std::string_view report);

}  // namespace muster::service
