#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "muster/engine/schedule/ids.h"

namespace muster::engine {

struct InputPlace {
  std::uint32_t chunk = 0;
  WorkerId from;  ///< the worker itself where it has the chunk
  friend bool operator==(const InputPlace&, const InputPlace&) = default;
};

/// The worker fetches what it lacks, keeps it, says so (ChunksCopied), and runs the task. Its
/// outputs it keeps until DropChunk.
struct RunTask {
  WorkerId worker;
  TaskId task;
  std::uint64_t attempt = 0;
  std::vector<InputPlace> inputs;
  friend bool operator==(const RunTask&, const RunTask&) = default;
};

/// In one transfer.
struct CopyChunks {
  WorkerId from;
  WorkerId to;
  std::vector<ChunkId> chunks;
  friend bool operator==(const CopyChunks&, const CopyChunks&) = default;
};

struct DropChunk {
  WorkerId worker;
  ChunkId chunk;
  friend bool operator==(const DropChunk&, const DropChunk&) = default;
};

/// Its outcome no longer matters. A worker that finished it already does nothing: it will hear what
/// to drop.
struct CancelTask {
  WorkerId worker;
  TaskId task;
  std::uint64_t attempt = 0;
  friend bool operator==(const CancelTask&, const CancelTask&) = default;
};

/// It finished a task of a session that is closed, or that nobody remembers: what it made is to go.
struct ForgetTask {
  WorkerId worker;
  TaskId task;
  friend bool operator==(const ForgetTask&, const ForgetTask&) = default;
};

enum class GraphOutcome : std::uint8_t { finished, failed, cancelled };

/// All wanted chunks are there, or will never be. A graph that was appended to ends once more.
struct GraphEnded {
  SessionId session;
  GraphId graph;
  GraphOutcome outcome = GraphOutcome::finished;
  std::string report;  ///< which task of which operator, on which workers, and why
  friend bool operator==(const GraphEnded&, const GraphEnded&) = default;
};

struct GraphProgress {
  SessionId session;
  GraphId graph;
  std::uint32_t done = 0;
  std::uint32_t total = 0;
  std::uint64_t bytes = 0;  ///< made so far, recomputed ones included
  friend bool operator==(const GraphProgress&, const GraphProgress&) = default;
};

/// A leaving worker may stop: nothing needed is on it alone.
struct WorkerReleased {
  WorkerId worker;
  friend bool operator==(const WorkerReleased&, const WorkerReleased&) = default;
};

using ScheduleAction = std::variant<RunTask, CopyChunks, DropChunk, CancelTask, ForgetTask,
                                    GraphEnded, GraphProgress, WorkerReleased>;
/// To be carried out in order, at least as far as one worker is concerned.
using ScheduleActions = std::vector<ScheduleAction>;

}  // namespace muster::engine
