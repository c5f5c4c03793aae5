#include "muster/service/worker/task_runner.h"

#include <algorithm>
#include <set>
#include <utility>

#include "muster/base/clock.h"
#include "muster/base/wall_clock.h"
#include "muster/service/protocol/failure.h"

namespace muster::service {

namespace {

using engine::ChunkId;
using engine::RunningTask;
using engine::TaskFailed;
using engine::TaskFault;
using engine::TaskFinished;
using engine::TaskId;

Outcome failure(RunningTask task, TaskFault fault, std::string message,
                std::vector<std::uint32_t> missing) {
  Outcome outcome;
  outcome.report.event =
      TaskFailed{{}, task.task, task.attempt, fault, std::move(message), std::move(missing)};
  return outcome;
}

}  // namespace

std::size_t TaskRunner::Hash::operator()(const RunningTask& task) const noexcept {
  return static_cast<std::size_t>(
      (std::uint64_t{task.task.session.value()} << 32 | task.task.index) * 0x9E3779B97F4A7C15ull ^
      task.attempt * 0xC2B2AE3D27D4EB4Full);
}

TaskRunner::TaskRunner(std::size_t threads, TaskExecution& execution, Fetcher& fetcher,
                       Reporter& reporter, WorkerCounters& counters)
    : count_(std::max<std::size_t>(threads, 1)),
      execution_(execution),
      fetcher_(fetcher),
      reporter_(reporter),
      counters_(counters) {
  for (std::uint32_t i = 0; i < count_; ++i)
    threads_.emplace_back([this, i](const std::stop_token& stop) { work(stop, i); });
}

TaskRunner::~TaskRunner() { stop(); }

void TaskRunner::stop() {
  execution_.stop();
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void TaskRunner::run(RunOrder order) {
  const auto task = std::make_shared<Task>();
  task->order = std::move(order);
  {
    const std::scoped_lock lock(mutex_);
    if (!tasks_.emplace(id_of(*task), task).second) return;
    task->number = next_number_++;
  }
  task->inputs = execution_.expect(task->order);
  fetch_inputs(task);
  waited(task);
}

void TaskRunner::fetch_inputs(const Handle& task) {
  std::set<ChunkId> asked;
  for (const OrderInput& input : task->order.inputs) {
    if (input.holder.empty() || !asked.insert(input.chunk).second) continue;
    ++task->waits;
    const bool here = fetcher_.want(input.chunk, input.holder,
                                    [this, task](ChunkId chunk, const FetchFailure* failure) {
                                      fetched(task, chunk, failure);
                                    });
    if (here) --task->waits;
  }
}

void TaskRunner::fetched(const Handle& task, ChunkId chunk, const FetchFailure* failure) {
  if (failure != nullptr) {
    const std::scoped_lock lock(mutex_);
    if (failure->missing) task->missing.push_back(chunk.index);
    task->failure = failure->message;
  }
  waited(task);
}

/// One thing less to wait for.
void TaskRunner::waited(const Handle& task) {
  if (task->waits.fetch_sub(1) > 1) return;
  std::unique_lock lock(mutex_);
  if (task->cancelled) return;
  if (task->failure.empty()) {
    add_ready(task);
    return;
  }
  counters_.tasks_failed += 1;
  const bool is_missing = !task->missing.empty();
  Outcome outcome = failure(
      id_of(*task), is_missing ? TaskFault::inputs_missing : TaskFault::retryable,
      failure_text(is_missing ? engine::Wrong::other : engine::Wrong::memory, task->failure),
      task->missing);
  lock.unlock();
  reporter_.ended(std::move(outcome));
  reporter_.flush();
  lock.lock();
  tasks_.erase(id_of(*task));
}

/// `mutex_` must be held.
void TaskRunner::add_ready(const Handle& task) {
  // Mostly it is the newest; one that waited for its inputs goes before those ordered later.
  const auto earlier = [](const Handle& a, const Handle& b) { return a->number < b->number; };
  ready_.insert(std::upper_bound(ready_.begin(), ready_.end(), task, earlier), task);
  ready_changed_.notify_one();
}

/// `mutex_` must be held, so that the thread does not go on to another task meanwhile.
void TaskRunner::interrupt(Task& task) {
  task.cancelled = true;
  if (task.thread != std::thread::id()) execution_.interrupt(task.thread);
}

void TaskRunner::cancel(TaskId task, std::uint64_t attempt) {
  const std::scoped_lock lock(mutex_);
  const auto found = tasks_.find({task, attempt});
  if (found == tasks_.end()) return;
  interrupt(*found->second);
  tasks_.erase(found);
  counters_.tasks_cancelled += 1;
}

void TaskRunner::cancel_session(engine::SessionId session) {
  const std::scoped_lock lock(mutex_);
  counters_.tasks_cancelled += std::erase_if(tasks_, [&](const auto& entry) {
    if (entry.first.task.session != session) return false;
    interrupt(*entry.second);
    return true;
  });
}

std::vector<RunningTask> TaskRunner::accepted() const {
  const std::scoped_lock lock(mutex_);
  std::vector<RunningTask> tasks;
  for (const auto& [id, task] : tasks_) tasks.push_back(id);
  return tasks;
}

TaskRunner::Handle TaskRunner::next(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    // `stop` ends it.
    if (!ready_changed_.wait(lock, stop, [&] { return !ready_.empty(); })) return nullptr;
    if (stop.stop_requested()) return nullptr;
    Handle task = std::move(ready_.front());
    ready_.pop_front();
    if (task->cancelled) continue;
    task->thread = std::this_thread::get_id();
    return task;
  }
}

void TaskRunner::work(const std::stop_token& stop, std::uint32_t thread) {
  while (const Handle task = next(stop)) {
    reporter_.started(thread, id_of(*task));
    const Start start{wall_clock<std::chrono::nanoseconds>(), SteadyClock().now()};
    finish(thread, *task, execution_.run(task->order, task->cancelled), start);
  }
}

void TaskRunner::finish(std::uint32_t thread, const Task& task, TaskResult result,
                        const Start& start) {
  const RunningTask id = id_of(task);
  std::optional<Outcome> outcome;
  if (result.kind == TaskResult::Kind::finished) {
    counters_.tasks_finished += 1;
    for (const std::uint64_t bytes : result.output_bytes) counters_.output_bytes += bytes;
    outcome.emplace();
    outcome->first_output = task.order.first_output;
    outcome->outputs = static_cast<std::uint32_t>(result.output_bytes.size());
    outcome->report.shapes = std::move(result.shapes);
    outcome->report.thread = thread;
    outcome->report.started = start.wall;
    outcome->report.ended = wall_clock<std::chrono::nanoseconds>();
    const std::int64_t took = Duration(SteadyClock().now() - start.steady).count();
    counters_.task_nanoseconds += static_cast<std::uint64_t>(took);
    outcome->report.event =
        TaskFinished{{}, id.task, id.attempt, std::move(result.output_bytes), took};
  } else if (result.kind == TaskResult::Kind::failed && !task.cancelled) {
    counters_.tasks_failed += 1;
    if (!result.missing.empty()) {
      engine::ChunksLost lost;
      for (const std::uint32_t chunk : result.missing)
        lost.chunks.push_back({id.task.session, chunk});
      reporter_.add(std::move(lost));
    }
    outcome = failure(id, result.fault, std::move(result.message), std::move(result.missing));
  }
  reporter_.ended(thread, std::move(outcome));
  bool is_dry = false;
  {
    const std::scoped_lock lock(mutex_);
    tasks_.erase(id);
    is_dry = ready_.size() < count_;
  }
  // The scheduler should hear it before there is nothing left to do; else with others.
  if (is_dry) reporter_.flush();
}

}  // namespace muster::service
