#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/engine/schedule/action.h"
#include "muster/engine/schedule/event.h"
#include "muster/engine/schedule/schedule_options.h"
#include "muster/engine/schedule/state.h"
#include "muster/engine/schedule/worker_set.h"

namespace muster::engine {

/// How much the scheduler remembers.
struct ScheduleCounts {
  std::size_t workers = 0;
  std::size_t sessions = 0;
  std::size_t graphs = 0;
  std::size_t tasks = 0;
  std::size_t chunks = 0;
  std::size_t copies = 0;
  std::size_t attempts = 0;
  std::size_t ready = 0;
  std::size_t resting = 0;  ///< wait for their next try: TimePassed is needed
};

/// One task, for whoever shows it.
struct TaskView {
  TaskPhase phase = TaskPhase::idle;
  std::string_view operator_name;  ///< until the next event
  std::optional<WorkerId> worker;  ///< where it was given to last
  std::uint64_t attempt = 0;       ///< there
  Instant started = -1;            ///< there; negative if it has not
};

struct ChunkView {
  std::uint64_t bytes = 0;
  std::uint32_t task = 0;    ///< that makes it
  std::uint32_t output = 0;  ///< which of that task's
  std::vector<WorkerId> holders;
  bool coming = false;  ///< it is being made, or will be
};

struct WorkerView {
  WorkerHealth health = WorkerHealth::gone;
  std::uint32_t threads = 0;
  std::uint64_t budget = 0;
  std::uint64_t held = 0;
  std::uint64_t spilled = 0;
  std::uint32_t attempts = 0;  ///< tasks it was given
  std::uint32_t ready = 0;     ///< tasks in its queue here
};

/// Decides which worker runs which task, where chunks go and when they are dropped. Knows no clock,
/// no thread and no socket: the same events at the same instants give the same actions, so a
/// journal of events (journal.h) is a copy of the scheduler. Events of workers, sessions and tasks
/// that it does not know are stale and do no harm. Not thread-safe.
///
/// Two rules hold after every event: what a worker holds, somebody needs; and what somebody needs
/// and nobody holds has an active task that makes it.
class Scheduler {
 public:
  explicit Scheduler(ScheduleOptions options = {});

  /// Appends what is to be done to `actions`.
  void handle(Instant now, const ScheduleEvent& event, ScheduleActions& actions);

  [[nodiscard]] ScheduleCounts counts() const;
  /// Of everything that is remembered: equal after equal events.
  [[nodiscard]] std::uint64_t digest() const;
  /// Nothing for a graph that is not known.
  [[nodiscard]] GraphProgress progress(SessionId session, GraphId graph) const;

  // snapshot.cpp
  /// Everything as bytes that `restore` of the same program gives back: where a journal can begin.
  [[nodiscard]] std::vector<std::byte> snapshot() const;
  /// Throws ArrayError for bytes that are none, or another program's.
  void restore(ByteSpan bytes);
  /// The same for programs that read each other's snapshots.
  [[nodiscard]] static std::uint64_t snapshot_layout();

  // inspect.cpp: nothing for what is not known, or not any more.
  [[nodiscard]] std::optional<TaskView> task(TaskId task) const;
  [[nodiscard]] std::optional<ChunkView> chunk(ChunkId chunk) const;
  [[nodiscard]] WorkerView worker(WorkerId worker) const;
  [[nodiscard]] bool knows(TaskId task) const;
  /// The numbers of the next task and chunk that are submitted.
  [[nodiscard]] std::uint32_t next_task(SessionId session) const;
  [[nodiscard]] std::uint32_t next_chunk(SessionId session) const;

 private:
  enum class Theft : std::uint8_t { taken, refused, nothing };

  void on(const GraphSubmitted& event);
  void on(const WorkerJoined& event);
  void on(const WorkerLeaving& event);
  void on(const WorkerLost& event);
  void on(const WorkerSilent& event);
  void on(const TaskStarted& event);
  void on(const TaskFinished& event);
  void on(const TaskFailed& event);
  void on(const ChunksCopied& event);
  void on(const ChunksLost& event);
  void on(const ChunksReleased& event);
  void on(const GraphCancelled& event);
  void on(const SessionClosed& event);
  void on(const MemoryReported& event);
  void on(const TimePassed& event);

  template <class Archive>
  void archive(Archive& through);

  // tables.cpp: lists and counters, no decisions.
  SessionState* find(SessionId session);
  TaskState* find(TaskId task);
  ChunkState* find(ChunkId chunk);
  WorkerState* find(WorkerId worker);
  void touch(std::uint32_t worker);
  void touch_leaving();
  void touch_leaving(const ChunkState& chunk);
  void set_health(std::uint32_t worker, WorkerHealth health);
  std::uint32_t find_copy(const ChunkState& chunk, std::uint32_t worker) const;
  void add_copy(SessionState& s, std::uint32_t chunk, std::uint32_t worker, std::uint64_t bytes,
                bool pending);
  void remove_copy(SessionState& s, std::uint32_t copy);
  std::uint32_t find_attempt(const TaskState& task, WorkerId worker, std::uint64_t number) const;
  void add_attempt(SessionState& s, std::uint32_t task, std::uint32_t worker,
                   std::uint64_t promised);
  void remove_attempt(SessionState& s, std::uint32_t attempt);
  void measure(SessionState& s, const TaskState& task, const AttemptState& attempt, Instant told);
  void cancel_attempts(SessionState& s, std::uint32_t task);
  void enqueue(SessionState& s, std::uint32_t task, std::uint32_t worker);
  void unready(TaskState& task);

  // submission.cpp
  std::string refusal(const GraphSubmitted& event);
  void append(SessionState& s, GraphState& graph, const GraphSubmitted& event);
  void add_task(SessionState& s, const TaskSpec& spec, std::uint32_t graph,
                std::uint32_t operator_name);
  void want(SessionState& s, GraphState& graph, std::uint32_t graph_id,
            std::vector<std::uint32_t> chunks);
  void order(SessionState& s, std::uint32_t root);
  void spread_sources(SessionState& s);

  // lineage.cpp: what is needed is made, what is not is dropped.
  void activate(SessionState& s, std::uint32_t task);
  void make_ready(SessionState& s, std::uint32_t task);
  void requeue(SessionState& s, std::uint32_t task, Instant pause = 0);
  void end_rests();
  void arrive(SessionState& s, std::uint32_t chunk);
  void recover();
  void settle();
  void conclude(SessionState& s, std::uint32_t task);
  void try_retire(SessionState& s, std::uint32_t task);
  void forget_if_empty(SessionState& s, std::uint32_t graph);
  void complete(SessionState& s, std::uint32_t task, std::uint32_t worker,
                const std::vector<std::uint64_t>& bytes);
  void take_second(SessionState& s, std::uint32_t chunk, std::uint32_t worker);
  void scatter(SessionState& s, const TaskState& task, std::uint32_t worker);
  void take_in(WorkerId worker, const HeldChunk& held);
  void drop_moved(SessionState& s, std::uint32_t chunk, std::uint32_t worker);

  // graphs.cpp
  void end_if_complete(SessionState& s, std::uint32_t graph);
  void end_graph(SessionState& s, std::uint32_t graph, GraphOutcome outcome, std::string report);
  void close_graph(SessionState& s, std::uint32_t graph);
  void fail_task(SessionState& s, std::uint32_t task, const std::string& report);
  std::string name(const SessionState& s, std::uint32_t task) const;

  // placement.cpp
  std::uint32_t place(SessionState& s, const TaskState& task);
  std::uint32_t any_worker(const TaskState& task);
  std::int64_t wait_at(std::uint32_t worker) const;
  std::uint64_t need_at(SessionState& s, const TaskState& task, std::uint32_t worker);
  bool admits(const WorkerState& worker, std::uint64_t need) const;
  static bool is_source(SessionState& s, const TaskState& task);
  static bool is_too_early(SessionState& s, const TaskState& task, const WorkerState& worker,
                           std::uint64_t need);
  Lane* best_lane(std::uint32_t worker);
  bool is_queued(SessionState& s, std::uint64_t entry, std::uint32_t worker);
  void assign(SessionState& s, std::uint32_t task, std::uint32_t worker, std::uint64_t need);
  std::vector<InputPlace> input_places(SessionState& s, const TaskState& task,
                                       std::uint32_t worker);
  void dispatch();
  void fill(std::uint32_t worker);
  Theft steal(std::uint32_t thief);
  Theft steal_ready(std::uint32_t thief, std::uint32_t victim);
  Theft steal_assigned(std::uint32_t thief);
  bool run_second(SessionState& s, std::uint32_t task, std::uint32_t beside);

  // members.cpp
  void join(const WorkerJoined& event);
  void reconcile(const WorkerJoined& event);
  void move_queue(std::uint32_t worker);
  void lose_copies(std::uint32_t worker);
  std::vector<TaskId> blame(std::uint32_t worker);
  std::string death_report(const SessionState& s, std::uint32_t task) const;
  void give_up_attempts(std::uint32_t worker, bool only_unstarted);
  struct Whereabouts {
    bool stays = false;
    bool on_its_way = false;
  };
  Whereabouts whereabouts(const ChunkState& chunk) const;
  void hand_over(std::uint32_t worker);

  // stragglers.cpp
  bool is_straggler(const SessionState& s, const AttemptState& attempt) const;

  ScheduleOptions options_;
  std::map<SessionId, SessionState> sessions_;
  std::vector<WorkerState> workers_;  ///< by WorkerId
  std::vector<std::uint32_t>
      ready_;  ///< by WorkerId: tasks in its queue; apart, to be scanned quickly
  std::vector<std::uint32_t> well_;  ///< workers that get tasks
  WorkerState nowhere_;              ///< its lanes hold ready tasks while there is no worker
  std::uint32_t nowhere_ready_ = 0;
  Pool<CopyState> copies_;
  Pool<AttemptState> attempts_;
  WorkerSet hungry_;  ///< workers with an idle thread and an empty queue
  std::size_t total_ready_ = 0;
  WorkerSet overfull_;  ///< workers with more attempts than threads
  std::vector<RestState> rests_;
  std::uint64_t next_attempt_ = 0;
  std::uint32_t next_worker_ = 0;  ///< for taking turns
  std::int64_t mean_ = 0;          ///< of a task's time, lately

  // Within one event.
  Instant now_ = 0;
  ScheduleActions* actions_ = nullptr;  ///< the caller's, only while handle() runs
  std::vector<std::uint32_t> dirty_;
  std::vector<std::pair<SessionState*, std::uint32_t>> loose_;  ///< chunks that lost a reason to be
  std::vector<std::pair<SessionState*, std::uint32_t>>
      gone_;  ///< needed chunks that lost all copies
  std::vector<std::pair<SessionState*, std::uint32_t>> lost_uploads_;

  // Scratch, kept for its memory.
  std::vector<std::uint32_t> stack_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> path_;
  std::vector<std::uint32_t> sources_;
  std::vector<std::uint32_t> candidates_;
  std::vector<std::uint64_t> have_;  ///< by WorkerId: bytes of the task's inputs; zero between uses
};

}  // namespace muster::engine
