#pragma once

#include <compare>
#include <cstdint>

#include "muster/base/strong_id.h"

namespace muster::engine {

/// Given out by the service, never twice: a worker that was declared lost comes back under a new
/// one.
using WorkerId = StrongId<struct WorkerIdTag, std::uint32_t>;
using SessionId = StrongId<struct EngineSessionIdTag, std::uint32_t>;
/// One execution within a session.
using GraphId = StrongId<struct GraphIdTag, std::uint32_t>;

/// Tasks of a session are numbered in the order in which they are submitted.
struct TaskId {
  SessionId session;
  std::uint32_t index = 0;
  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

/// Chunks of a session are numbered in the order of the tasks that make them, outputs in order.
struct ChunkId {
  SessionId session;
  std::uint32_t index = 0;
  friend auto operator<=>(const ChunkId&, const ChunkId&) = default;
};

/// Nanoseconds on the clock of whoever feeds the scheduler; only differences matter.
using Instant = std::int64_t;

}  // namespace muster::engine
