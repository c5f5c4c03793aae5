#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "muster/engine/schedule/ids.h"

namespace muster::engine {

/// A task as the scheduler sees it; kernel and attributes stay with the service.
struct TaskSpec {
  std::vector<std::uint32_t> inputs{};        ///< chunks of the session, made by earlier tasks
  std::vector<std::uint64_t> output_bytes{};  ///< one per output; an estimate until it has run
  std::uint32_t operator_name = 0;            ///< index into GraphSubmitted::operator_names
  bool external = false;   ///< uploaded: never run, its chunks arrive by ChunksCopied
  bool scatter = false;    ///< a shuffle's mapper: each output goes to another reducer
  bool repeatable = true;  ///< a straggler may be run a second time beside the first
  friend bool operator==(const TaskSpec&, const TaskSpec&) = default;
};

/// Tasks in an order in which each comes after those it reads, and the chunks that are to be kept.
/// Submitting to a graph that is not `last` yet appends to it (staged tiling).
struct GraphSubmitted {
  SessionId session;
  GraphId graph;
  std::vector<std::string> operator_names;
  std::vector<TaskSpec> tasks;
  std::vector<std::uint32_t> wanted;
  bool last = true;  ///< nothing will be appended: lineage that nobody needs may be forgotten
  friend bool operator==(const GraphSubmitted&, const GraphSubmitted&) = default;
};

struct HeldChunk {
  ChunkId chunk;
  std::uint64_t bytes = 0;
  friend bool operator==(const HeldChunk&, const HeldChunk&) = default;
};

struct RunningTask {
  TaskId task;
  std::uint64_t attempt = 0;
  friend bool operator==(const RunningTask&, const RunningTask&) = default;
};

/// A new worker, or one that is known and registers again after the scheduler restarted: then what
/// it holds and runs replaces what the scheduler believed.
struct WorkerJoined {
  WorkerId worker;
  std::uint32_t threads = 1;
  std::uint64_t memory = 0;  ///< its budget in bytes
  std::vector<HeldChunk> held;
  std::vector<RunningTask> running;
  friend bool operator==(const WorkerJoined&, const WorkerJoined&) = default;
};

/// It wants to go: its data is handed over, then it is released.
struct WorkerLeaving {
  WorkerId worker;
  friend bool operator==(const WorkerLeaving&, const WorkerLeaving&) = default;
};

/// It is gone with all it held. `crashed`: what ran there may have been the cause.
struct WorkerLost {
  WorkerId worker;
  bool crashed = true;
  friend bool operator==(const WorkerLost&, const WorkerLost&) = default;
};

/// Nothing was heard from it for a while, or, with `silent` false, it was heard again.
struct WorkerSilent {
  WorkerId worker;
  bool silent = true;
  friend bool operator==(const WorkerSilent&, const WorkerSilent&) = default;
};

struct TaskStarted {
  WorkerId worker;
  TaskId task;
  std::uint64_t attempt = 0;
  friend bool operator==(const TaskStarted&, const TaskStarted&) = default;
};

struct TaskFinished {
  WorkerId worker;
  TaskId task;
  std::uint64_t attempt = 0;
  std::vector<std::uint64_t> output_bytes;
  /// Nanoseconds at work, as the worker measured them: that a short one began is not told. 0 where
  /// it did not: then they are counted from TaskStarted.
  std::int64_t took = 0;
  friend bool operator==(const TaskFinished&, const TaskFinished&) = default;
};

enum class TaskFault : std::uint8_t {
  error,           ///< the kernel refused its data: running it again would not help
  retryable,       ///< memory, disk, a Python process that died
  inputs_missing,  ///< `missing` could not be fetched
};

struct TaskFailed {
  WorkerId worker;
  TaskId task;
  std::uint64_t attempt = 0;
  TaskFault fault = TaskFault::error;
  std::string message;
  std::vector<std::uint32_t> missing;
  friend bool operator==(const TaskFailed&, const TaskFailed&) = default;
};

/// The worker holds these now: it fetched them for a task, by a CopyChunks, or from a client.
struct ChunksCopied {
  WorkerId worker;
  std::vector<HeldChunk> chunks;
  friend bool operator==(const ChunksCopied&, const ChunksCopied&) = default;
};

/// The worker holds these no longer (evicted, torn), or a CopyChunks to it failed.
struct ChunksLost {
  WorkerId worker;
  std::vector<ChunkId> chunks;
  friend bool operator==(const ChunksLost&, const ChunksLost&) = default;
};

/// The client wants these no longer.
struct ChunksReleased {
  SessionId session;
  GraphId graph;
  std::vector<std::uint32_t> chunks;
  friend bool operator==(const ChunksReleased&, const ChunksReleased&) = default;
};

struct GraphCancelled {
  SessionId session;
  GraphId graph;
  friend bool operator==(const GraphCancelled&, const GraphCancelled&) = default;
};

/// Everything of the session goes.
struct SessionClosed {
  SessionId session;
  friend bool operator==(const SessionClosed&, const SessionClosed&) = default;
};

struct MemoryReported {
  WorkerId worker;
  std::uint64_t spilled = 0;  ///< bytes of its chunks that are on disk only
  friend bool operator==(const MemoryReported&, const MemoryReported&) = default;
};

/// Now and then, so that stragglers are seen and progress is told.
struct TimePassed {
  friend bool operator==(const TimePassed&, const TimePassed&) = default;
};

using ScheduleEvent =
    std::variant<GraphSubmitted, WorkerJoined, WorkerLeaving, WorkerLost, WorkerSilent, TaskStarted,
                 TaskFinished, TaskFailed, ChunksCopied, ChunksLost, ChunksReleased, GraphCancelled,
                 SessionClosed, MemoryReported, TimePassed>;

}  // namespace muster::engine
