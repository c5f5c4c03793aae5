#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "muster/service/protocol/orders.h"
#include "muster/service/worker/fetcher.h"
#include "muster/service/worker/reporter.h"
#include "muster/service/worker/task_execution.h"

namespace muster::service {

/// Runs what the scheduler orders: has the inputs fetched, then the kernels run by threads of its
/// own, in the order of the orders. Reports how each task ended. Thread-safe.
class TaskRunner {
 public:
  /// All of them outlive it.
  TaskRunner(std::size_t threads, TaskExecution& execution, Fetcher& fetcher, Reporter& reporter,
             WorkerCounters& counters);
  ~TaskRunner();
  TaskRunner(const TaskRunner&) = delete;
  TaskRunner& operator=(const TaskRunner&) = delete;

  void run(RunOrder order);
  /// One that runs leaves nothing; it is interrupted if it is a Python function.
  void cancel(engine::TaskId task, std::uint64_t attempt);
  void cancel_session(engine::SessionId session);

  /// The tasks that were ordered and have not ended.
  [[nodiscard]] std::vector<engine::RunningTask> accepted() const;
  [[nodiscard]] std::size_t threads() const { return count_; }

  /// Waits for kernels that run, and leaves the rest. Idempotent.
  void stop();

 private:
  struct Task {
    RunOrder order;
    engine::ExpectedChunks inputs;
    std::uint64_t number = 0;            ///< of the order
    std::atomic<std::size_t> waits = 1;  ///< inputs on their way, and one until all are asked for
    std::atomic<bool> cancelled = false;
    std::thread::id thread;              ///< that runs it; `mutex_` must be held
    std::vector<std::uint32_t> missing;  ///< `mutex_` must be held
    std::string failure;                 ///< of a fetch; `mutex_` must be held
  };
  using Handle = std::shared_ptr<Task>;
  struct Hash {
    std::size_t operator()(const engine::RunningTask& task) const noexcept;
  };

  void interrupt(Task& task);
  void add_ready(const Handle& task);
  void fetch_inputs(const Handle& task);
  void fetched(const Handle& task, engine::ChunkId chunk, const FetchFailure* failure);
  void waited(const Handle& task);
  void work(const std::stop_token& stop, std::uint32_t thread);
  [[nodiscard]] Handle next(const std::stop_token& stop);
  /// The wall clock is for people and may be set; how long something took is not taken from it.
  struct Start {
    std::int64_t wall;
    TimePoint steady;
  };
  void finish(std::uint32_t thread, const Task& task, TaskResult result, const Start& start);
  [[nodiscard]] static engine::RunningTask id_of(const Task& task) {
    return {task.order.task, task.order.attempt};
  }

  const std::size_t count_;
  TaskExecution& execution_;
  Fetcher& fetcher_;
  Reporter& reporter_;
  WorkerCounters& counters_;

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable_any ready_changed_;
  std::unordered_map<engine::RunningTask, Handle, Hash> tasks_;
  std::deque<Handle> ready_;  ///< by number
  std::uint64_t next_number_ = 0;

  std::vector<std::jthread> threads_;
};

}  // namespace muster::service
