#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "muster/base/clock.h"
#include "muster/service/protocol/reports.h"
#include "muster/service/worker/outcome_log.h"

namespace muster::service {

/// What a reporter needs of its worker.
struct ReporterNeeds {
  /// Gives reports to the scheduler; false when it is not there.
  std::function<bool(const Reports&)> send;
  /// Whether a chunk is here.
  std::function<bool(engine::ChunkId)> holds;
  /// Bytes of chunks that are only on disk; told whenever they changed.
  std::function<std::uint64_t()> spilled;
};

/// Tells the scheduler what happens on a worker, in order and in few messages: what comes together
/// goes together, soon (`kSoon`), or at once where somebody asks for that because nothing else will
/// come. That a task began is told only if it is still running by then.
///
/// While the worker is not registered, reports wait; outcomes of tasks are told again afterwards
/// (see OutcomeLog), all else is part of the registration. Thread-safe.
class Reporter {
 public:
  static constexpr Duration kSoon = std::chrono::microseconds(500);

  Reporter(std::size_t kernel_threads, ReporterNeeds needs);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void add(engine::ScheduleEvent event);
  void started(std::uint32_t thread, engine::RunningTask task);
  /// The task that `thread` runs has ended; with nothing, in a way that nobody wants to know.
  void ended(std::uint32_t thread, std::optional<Outcome> outcome);
  /// A task that ended before a thread took it.
  void ended(Outcome outcome);
  /// Sends what there is from this thread.
  void flush();

  /// From now on all waits. What was not sent yet is left out where a registration that is made
  /// afterwards says it too.
  void pause();
  /// Under this id the worker is registered now.
  void resume(std::uint64_t epoch, engine::WorkerId worker);
  /// A send failed: the worker must register again. Stays true until `pause`.
  [[nodiscard]] bool broken() const { return broken_; }

  [[nodiscard]] std::vector<engine::ChunkId> made_by(engine::TaskId task) const;

  /// Sends what there is and ends the thread. Idempotent.
  void stop();

 private:
  struct Begun {
    engine::RunningTask task;
    bool told = false;
  };

  void serve(const std::stop_token& stop);
  void append(Report report);
  void wake();
  [[nodiscard]] bool has_something() const { return !waiting_.empty() || starting_ > 0; }
  [[nodiscard]] std::vector<Report> take();

  const ReporterNeeds needs_;
  std::mutex send_mutex_;  ///< taken before `mutex_`: one message at a time, in order

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable_any arrived_;
  std::vector<Report> waiting_;
  std::vector<std::optional<Begun>> begun_;  ///< what each thread runs
  std::size_t starting_ = 0;                 ///< how many of them were not told
  OutcomeLog outcomes_;
  bool paused_ = true;
  bool idle_ = false;  ///< the thread sleeps until something comes
  std::uint64_t epoch_ = 0;
  engine::WorkerId worker_;
  std::uint64_t told_spilled_ = 0;
  std::atomic<bool> broken_ = false;

  std::jthread thread_;
};

}  // namespace muster::service
