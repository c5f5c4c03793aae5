#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/engine/schedule/scheduler.h"
#include "tests/sim/schedule_graphs.h"
#include "tests/sim/schedule_worker.h"
#include "tests/sim/schedule_world.h"

namespace muster::sim {

using namespace engine;

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kStep = 10 * kMillisecond;
// Faults end, so that graphs may; whoever waits until kEnd waits for ever.
constexpr std::int64_t kPeace = 3'000 * kMillisecond;
constexpr std::int64_t kEnd = 60'000 * kMillisecond;
// A worker that leaves waits so long for its release.
constexpr std::int64_t kPatience = 300 * kMillisecond;

struct SimGraph {
  std::uint32_t session = 0;
  std::uint32_t graph = 0;
  std::vector<std::uint32_t> wanted;
  int stages = 1;  ///< that are still to be submitted
  bool is_submitted = false;
  bool is_cancelled = false;
  bool ended = false;
  bool failed = false;
};

/// All of one run: the scheduler, the workers, the clients and the messages between them.
class ScheduleCluster {
 public:
  explicit ScheduleCluster(const SchedulePlan& plan) : plan_(plan), random_(plan.seed) {
    options_.faults = plan.bugs;
    options_.most_deaths = plan.poison ? 3 : 1'000'000;
    options_.most_failures = 250;
    options_.straggler_least = 50 * kMillisecond;
    scheduler_ = std::make_unique<Scheduler>(options_);
  }

  ScheduleOutcome run();

 private:
  struct Due {
    std::int64_t at;
    std::uint64_t turn;
    std::function<void()> act;
    bool operator<(const Due& other) const {
      return std::pair(at, turn) > std::pair(other.at, other.turn);
    }
  };

  bool fails() const;
  void violate(std::string what);
  void later(std::int64_t delay, std::function<void()> act);
  template <class Until>
  void work(Until until) {
    while (!fails() && !until()) {
      if (due_.empty() || now_ > kEnd)
        return violate("a graph never ends, or a worker never rests");
      Due next = std::move(const_cast<Due&>(due_.top()));
      due_.pop();
      now_ = next.at;
      next.act();
    }
  }
  bool has_ended() const;

  // The scheduler's side.
  void feed(const ScheduleEvent& event);

  void carry_out(RunTask& run);
  void carry_out(const CopyChunks& copy);
  void carry_out(const DropChunk& drop);
  void carry_out(const CancelTask& cancel);
  void carry_out(const ForgetTask& forget);
  void carry_out(const GraphEnded& ended);
  void carry_out(const GraphProgress& progress);
  void carry_out(const WorkerReleased& released);

  void unlearn(SimWorker& w, std::uint64_t chunk);
  void learn(SimWorker& w, ChunkId chunk);
  void fulfil(SimWorker& w, std::uint64_t attempt);

  // What the scheduler learns by an event, before it gets it.
  void note(const TaskFinished& event);
  void note(const TaskFailed& event);
  void note(const ChunksCopied& event);
  void note(const ChunksLost& event);
  void note(const TaskStarted&);

  // Messages.
  void send(SimWorker& w, std::function<void()> act);
  template <class Event>
  void tell(SimWorker& w, Event event) {
    const std::uint64_t connection = w.connection;
    w.last_from = std::max(w.last_from, now_ + delay());
    later(w.last_from - now_, [this, &w, connection, event = std::move(event)] {
      if (w.connection != connection || !w.is_member) return;
      note(event);
      feed(event);
    });
  }
  std::int64_t delay() { return static_cast<std::int64_t>(random_.below(kMillisecond / 2)); }
  static void at_worker(SimWorker& w, const std::function<void()>& act);

  // The workers' side.
  std::uint64_t bytes_of(ChunkId chunk) const {
    return sessions_[chunk.session.value()].bytes[chunk.index];
  }
  bool fetch(SimWorker& to, std::uint32_t from, ChunkId chunk);
  void pump(SimWorker& w);
  void begin(SimWorker& w, const RunTask& run);
  void start(SimWorker& w, const RunTask& run, std::vector<std::uint64_t> values);
  void finish(SimWorker& w, TaskId task, std::uint64_t attempt,
              const std::vector<std::uint64_t>& values);

  // Faults.
  SimWorker* any_worker();
  void step();
  void harm();
  void join();
  void admit(std::unique_ptr<SimWorker> w);
  void register_worker(SimWorker& w);
  void die(SimWorker& w, bool crashed);
  void lose(SimWorker& w, bool crashed);
  /// It hears and does nothing for a while; if that is long, it is declared lost and comes back as
  /// another one with what it held.
  void freeze(SimWorker& w);
  void come_back(SimWorker& w);
  void thaw(SimWorker& w);
  void evict(SimWorker& w);
  /// It says so whenever it registers, and goes in the end, released or not.
  void leave(SimWorker& w);
  /// The scheduler dies and is made again from its journal; all connections are new.
  void restart();

  // Clients.
  void start_session(std::uint32_t id);
  void submit(SimGraph& graph);
  SimGraph* any_open_graph();
  void cancel_one();
  void release_one();
  void check_results();
  /// Lets all that is under way come to its end.
  void calm();
  void release();

  SchedulePlan plan_;
  Random random_;
  ScheduleOptions options_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::byte> journal_;
  std::priority_queue<Due> due_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::vector<SimSession> sessions_;
  std::vector<SimGraph> graphs_;
  std::int64_t now_ = 0;
  std::uint64_t turn_ = 0;
  std::uint32_t poisoned_ = 0;
  std::uint32_t poisoned_graph_ = 0;
  bool has_poison_ = false;
  bool calm_ = false;
  ScheduleOutcome out_;
};

}  // namespace muster::sim
