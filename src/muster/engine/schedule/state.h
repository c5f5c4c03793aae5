#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "muster/engine/schedule/ids.h"
#include "muster/engine/schedule/paged.h"

namespace muster::engine {

/// "No such index" in the tables below.
constexpr std::uint32_t kNobody = 0xFFFFFFFFu;

enum class TaskPhase : std::uint8_t {
  idle,      ///< nobody needs what it makes, or nobody asked yet
  waiting,   ///< needed; some inputs are missing
  ready,     ///< in a worker's queue
  assigned,  ///< given to a worker
  running,   ///< started there
  done,      ///< its outputs were made (and perhaps dropped)
};

[[nodiscard]] constexpr bool is_active(TaskPhase phase) {
  return phase != TaskPhase::idle && phase != TaskPhase::done;
}

/// One input of one task, linked with the other readers of its chunk.
struct EdgeState {
  std::uint32_t chunk = kNobody;
  std::uint32_t task = kNobody;
  std::uint32_t previous = kNobody;
  std::uint32_t next = kNobody;
};

struct ChunkState {
  std::uint32_t task = kNobody;          ///< its lineage
  std::uint32_t first_reader = kNobody;  ///< EdgeState
  std::uint32_t first_copy = kNobody;    ///< CopyState
  std::uint32_t copies = 0;              ///< that have arrived
  std::uint32_t readers = 0;             ///< inputs of active tasks
  std::uint32_t pins = 0;                ///< graphs that want it
  std::uint32_t lineage = 0;             ///< inputs of tasks that are not retired
  std::uint64_t bytes = 0;
  [[nodiscard]] bool needed() const { return readers + pins > 0; }
};

struct TaskState {
  std::uint32_t graph = 0;
  std::uint32_t first_edge = 0;
  std::uint32_t edges = 0;
  std::uint32_t first_chunk = 0;
  std::uint32_t chunks = 0;
  std::uint32_t operator_name = 0;
  std::uint32_t priority = kNobody;  ///< smaller runs first; none until something needs it
  std::uint32_t missing = 0;         ///< inputs that are nowhere, and a rest; counted while waiting
  std::uint32_t first_attempt = kNobody;
  std::uint32_t queue = kNobody;  ///< while ready: the worker whose queue it is in
  std::uint32_t home = kNobody;   ///< where it should better run
  std::uint32_t avoid = kNobody;  ///< where it failed last
  TaskPhase phase = TaskPhase::idle;
  std::uint8_t failures = 0;
  std::uint8_t misses = 0;
  bool external = false;
  bool scatter = false;
  bool repeatable = true;
  bool retired = false;
  bool resting = false;  ///< before it is tried again; counted as one that is missing
};

/// A task that failed and is tried again then.
struct RestState {
  Instant until = 0;
  SessionId session;
  std::uint32_t task = 0;
};

/// A chunk on a worker, in the lists of both.
struct CopyState {
  SessionId session;
  std::uint32_t chunk = 0;
  std::uint32_t worker = 0;
  std::uint32_t next_of_chunk = kNobody;
  std::uint32_t previous_of_worker = kNobody;
  std::uint32_t next_of_worker = kNobody;
  std::uint64_t bytes = 0;
  bool pending = false;  ///< on its way
};

/// A task that a worker was told to run, in the lists of both.
struct AttemptState {
  SessionId session;
  std::uint32_t task = 0;
  std::uint64_t number = 0;
  std::uint32_t worker = 0;
  std::uint32_t next_of_task = kNobody;
  std::uint32_t previous_of_worker = kNobody;
  std::uint32_t next_of_worker = kNobody;
  std::uint64_t promised = 0;  ///< bytes set aside for outputs and for inputs that move
  Instant started = -1;
};

/// Ready tasks of one session in a worker's queue: a heap of (priority, task), the first on top.
/// Entries of tasks that are ready there no longer are skipped when met.
struct Lane {
  SessionId session;
  std::vector<std::uint64_t> heap;
};

enum class WorkerHealth : std::uint8_t { gone, well, silent, leaving };

struct WorkerState {
  WorkerHealth health = WorkerHealth::gone;
  bool dirty = false;     ///< to be looked at before the event is over
  bool released = false;  ///< a leaving one that was told so
  std::uint32_t threads = 1;
  std::uint64_t budget = 0;
  std::uint64_t held = 0;      ///< bytes of copies
  std::uint64_t spilled = 0;   ///< of which on disk
  std::uint64_t promised = 0;  ///< to attempts, and to copies on their way
  std::uint32_t first_copy = kNobody;
  std::uint32_t first_attempt = kNobody;
  std::uint32_t last_attempt = kNobody;
  std::uint32_t attempts = 0;
  std::vector<Lane> lanes;

  [[nodiscard]] std::uint64_t used() const {
    return (held > spilled ? held - spilled : 0) + promised;
  }
};

struct OperatorState {
  std::string name;
  std::uint64_t measured = 0;
  Instant total = 0;
};

struct TaskRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

struct GraphState {
  std::vector<std::uint32_t> wanted;  ///< sorted
  std::vector<TaskRange> ranges;      ///< its tasks
  std::uint32_t missing = 0;          ///< wanted chunks that are nowhere
  std::uint32_t tasks = 0;            ///< not retired
  std::uint32_t done = 0;
  std::uint32_t total = 0;
  std::uint64_t bytes = 0;
  bool open = true;    ///< more may be appended
  bool ended = false;  ///< said so
  bool told = true;    ///< progress has not changed since
};

struct SessionState {
  SessionId id;
  Paged<TaskState> tasks;
  Paged<ChunkState> chunks;
  Paged<EdgeState> edges;
  std::map<std::uint32_t, GraphState> graphs;
  std::vector<std::uint32_t> unfinished;  ///< graphs with missing > 0
  std::vector<OperatorState> operators;
  std::map<std::string, std::uint32_t, std::less<>> operator_index;
  std::map<std::uint32_t, std::vector<std::uint32_t>>
      deaths;  ///< by task: the workers it took along
  std::uint32_t next_priority = 0;
  std::uint32_t attempts = 0;  ///< for a fair share between sessions
};

}  // namespace muster::engine
