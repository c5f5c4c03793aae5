#include "muster/engine/execute/executor.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"

namespace muster::engine {

namespace {

using namespace std::chrono_literals;

/// The tasks that are still to run for `wanted`, each after those it reads, in the order in which a
/// single thread would go: the inputs of one task close together.
std::vector<std::uint32_t> pending(const ChunkGraph& graph, std::span<const ChunkRef> wanted) {
  std::vector<std::uint32_t> order;
  std::vector<bool> seen(graph.tasks().size(), false);
  struct Visit {
    std::uint32_t task;
    std::size_t next_input;
  };
  std::vector<Visit> stack;
  for (const ChunkRef chunk : wanted) {
    if (!seen[chunk.task] && !graph.tasks()[chunk.task].done) stack.push_back({chunk.task, 0});
    seen[chunk.task] = true;
    while (!stack.empty()) {
      Visit& visit = stack.back();
      const Task& task = graph.tasks()[visit.task];
      if (visit.next_input == task.inputs.size()) {
        order.push_back(visit.task);
        stack.pop_back();
        continue;
      }
      const std::uint32_t input = task.inputs[visit.next_input++].task;
      if (!seen[input] && !graph.tasks()[input].done) stack.push_back({input, 0});
      seen[input] = true;
    }
  }
  return order;
}

ArrayError cancelled() { return {Wrong::cancelled, "the execution was cancelled"}; }

void check_ended(const RunControl& control) {
  if (control.cancelled()) throw cancelled();
  if (control.deadline && RunControl::Clock::now() > *control.deadline)
    throw ArrayError(Wrong::timeout,
                     fmt::format("the execution did not end in time: {} of {} tasks were done",
                                 control.done.load(), control.tasks.load()));
}

/// One run; lives on the stack of `run_tasks`.
class Run {
 public:
  Run(ChunkGraph& graph, std::vector<std::uint32_t> order, std::size_t threads, Memory& memory,
      RunControl& control)
      : graph_(graph), memory_(memory), control_(control), left_(order.size()), own_(threads) {
    missing_ = std::vector<std::atomic<std::uint32_t>>(graph.tasks().size());
    first_successor_.assign(graph.tasks().size() + 1, 0);
    for (const std::uint32_t task : order)
      for (const ChunkRef input : graph.tasks()[task].inputs)
        if (!graph.tasks()[input.task].done) ++first_successor_[input.task + 1];
    for (std::size_t i = 1; i < first_successor_.size(); ++i)
      first_successor_[i] += first_successor_[i - 1];
    successors_.resize(first_successor_.back());
    std::vector<std::uint32_t> next(first_successor_.begin(), first_successor_.end() - 1);
    for (const std::uint32_t task : order) {
      std::uint32_t missing = 0;
      for (const ChunkRef input : graph.tasks()[task].inputs) {
        if (graph.tasks()[input.task].done) continue;
        ++missing;
        successors_[next[input.task]++] = task;
      }
      missing_[task] = missing;
      if (missing == 0) fresh_.push_back(task);
    }
  }

  void work(std::size_t thread) noexcept {
    std::uint32_t task = 0;
    while (next(thread, task)) {
      try {
        execute(task);
      } catch (...) {
        fail(task, std::current_exception());
      }
      finish(thread, task);
    }
    const std::scoped_lock lock(mutex_);
    idle_.notify_all();
  }

  /// Sleeps until something may have changed; ends the run when it is cancelled or late.
  void wait() {
    bool over = false;
    {
      std::unique_lock lock(mutex_);
      over = idle_.wait_for(lock, 50ms, [&] { return left_ == 0 || stopped_; });
    }
    try {
      if (!over) check_ended(control_);
      if (control_.on_wait) control_.on_wait();
    } catch (...) {
      stop(std::current_exception());
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  struct Own {
    std::mutex mutex;
    std::deque<std::uint32_t> tasks;  ///< `mutex` must be held
  };

  bool take(std::size_t thread, std::uint32_t& task) {
    {
      Own& own = own_[thread];
      const std::scoped_lock lock(own.mutex);
      if (!own.tasks.empty()) {
        task = own.tasks.back();
        own.tasks.pop_back();
        return true;
      }
    }
    const std::size_t fresh = next_fresh_.fetch_add(1);
    if (fresh < fresh_.size()) {
      task = fresh_[fresh];
      return true;
    }
    next_fresh_.fetch_sub(1);
    for (std::size_t i = 1; i < own_.size(); ++i) {
      Own& other = own_[(thread + i) % own_.size()];
      const std::scoped_lock lock(other.mutex);
      if (other.tasks.empty()) continue;
      task = other.tasks.front();
      other.tasks.pop_front();
      return true;
    }
    return false;
  }

  /// Waits for a task; false when the run is over.
  bool next(std::size_t thread, std::uint32_t& task) {
    for (;;) {
      if (stopped_ || left_ == 0) return false;
      if (control_.cancelled()) {
        stop(std::make_exception_ptr(cancelled()));
        return false;
      }
      const std::size_t seen = changes_;
      if (take(thread, task)) return true;
      std::unique_lock lock(mutex_);
      ++sleepers_;
      idle_.wait_for(lock, 100ms, [&] { return stopped_ || left_ == 0 || changes_ != seen; });
      --sleepers_;
    }
  }

  [[nodiscard]] std::size_t estimate(const Task& task) const {
    std::size_t bytes = 0;
    std::size_t read = 0;
    std::vector<Index> inputs;
    for (const ChunkRef input : task.inputs) {
      const std::size_t size = graph_.tasks()[input.task].results[input.output].nbytes();
      inputs.push_back(static_cast<Index>(size));
      read += size;
    }
    for (const Meta& output : task.outputs)
      bytes += result_bytes(task.kernel, output.dtype, output.shape, read, task.outputs.size());
    if (task.kernel->scratch != nullptr) bytes += task.kernel->scratch(task.attributes, inputs);
    return bytes;
  }

  /// Waits until the results of a task fit, or nothing else runs.
  void admit(std::size_t bytes) {
    if (bytes > 0) {
      std::unique_lock lock(mutex_);
      while (!stopped_ && running_ > 0 && memory_.in_use() + reserved_ + bytes > memory_.limit())
        room_.wait_for(lock, 100ms);
      ++running_;
      reserved_ += bytes;
    }
  }

  void discharge(std::size_t bytes) {
    if (bytes > 0) {
      const std::scoped_lock lock(mutex_);
      --running_;
      reserved_ -= bytes;
      room_.notify_all();
    }
  }

  /// A chunk for a reader. The last one gets the graph's own share, so that it may change the
  /// items.
  Array share_of(ChunkRef chunk) {
    Task& from = graph_.tasks()[chunk.task];
    if (from.stored) return from.stored->chunk(from.stored_number);
    const bool last = std::atomic_ref(from.readers[chunk.output]).load() == 1;
    return last ? std::move(from.results[chunk.output]) : from.results[chunk.output];
  }

  void execute(std::uint32_t number) {
    Task& task = graph_.tasks()[number];
    const std::size_t bytes = estimate(task);
    admit(bytes);
    struct Discharge {
      Run& run;
      std::size_t bytes;
      ~Discharge() { run.discharge(bytes); }
    } discharge{*this, bytes};
    if (stopped_) return;
    std::vector<Array> inputs;
    for (const ChunkRef input : task.inputs) inputs.push_back(share_of(input));
    KernelContext context(task.attributes, std::move(inputs), task.outputs.size(), memory_);
    task.kernel->run(context);
    for (std::size_t output = 0; output < task.outputs.size(); ++output) {
      Array& array = context.outputs()[output];
      MUSTER_ASSERT(array, "a kernel sets all its outputs");
      task.outputs[output].shape = array.shape();
      // Nobody reads it: gone at once.
      if (task.readers[output] > 0) task.results[output] = std::move(array);
    }
  }

  void finish(std::size_t thread, std::uint32_t number) {
    Task& task = graph_.tasks()[number];
    if (!stopped_) {
      task.done = true;
      for (const ChunkRef input : task.inputs) {
        Task& from = graph_.tasks()[input.task];
        if (std::atomic_ref(from.readers[input.output]).fetch_sub(1) == 1)
          from.results[input.output] = {};
      }
      control_.done.fetch_add(1);
    }
    std::size_t ready = 0;
    {
      Own& own = own_[thread];
      const std::scoped_lock lock(own.mutex);
      for (std::uint32_t i = first_successor_[number]; i < first_successor_[number + 1]; ++i)
        if (missing_[successors_[i]].fetch_sub(1) == 1) {
          own.tasks.push_back(successors_[i]);
          ++ready;
        }
    }
    const bool last = left_.fetch_sub(1) == 1;
    changes_.fetch_add(1);
    if (last || (ready > 1 && sleepers_ > 0)) {
      const std::scoped_lock lock(mutex_);
      idle_.notify_all();
    }
  }

  void fail(std::uint32_t number, const std::exception_ptr& cause) {
    const Task& task = graph_.tasks()[number];
    const TaskSource& source = graph_.source(task);
    std::string message;
    Wrong wrong = Wrong::other;
    try {
      std::rethrow_exception(cause);
    } catch (const ArrayError& error) {
      wrong = error.wrong();
      message = error.what();
    } catch (const std::bad_alloc&) {
      wrong = Wrong::memory;
      message = "out of memory";
    } catch (const std::exception& error) {
      message = error.what();
    } catch (...) {
      message = "an exception of unknown type";
    }
    std::string where =
        fmt::format("in {} (kernel {}, task {})", source.operator_name, task.kernel->name, number);
    if (!source.origin.text.empty()) where += ", made at " + source.origin.text;
    stop(std::make_exception_ptr(ComputeError(wrong, message + "\n  " + where, cause)));
  }

  void stop(const std::exception_ptr& failure) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = failure;
    stopped_ = true;
    idle_.notify_all();
    room_.notify_all();
  }

  ChunkGraph& graph_;
  Memory& memory_;
  RunControl& control_;
  std::vector<std::uint32_t> fresh_;  ///< tasks that need nothing, in order
  std::atomic<std::size_t> next_fresh_ = 0;
  std::vector<std::atomic<std::uint32_t>> missing_;  ///< per task: inputs that have not run
  std::vector<std::uint32_t>
      first_successor_;  ///< per task: where its part of `successors_` begins
  std::vector<std::uint32_t> successors_;
  std::atomic<std::size_t> left_;
  std::atomic<std::size_t> changes_ = 0;
  std::atomic<bool> stopped_ = false;
  std::vector<Own> own_;

  std::mutex mutex_;
  std::condition_variable idle_;  ///< tasks are ready, or the run is over
  std::condition_variable room_;  ///< memory was released
  std::atomic<std::size_t> sleepers_ = 0;
  std::size_t running_ = 0;   ///< `mutex_` must be held
  std::size_t reserved_ = 0;  ///< bytes that running tasks may yet take; `mutex_` must be held
  std::exception_ptr failure_;
};

}  // namespace

void check_run(RunControl& control) {
  check_ended(control);
  if (control.on_wait) control.on_wait();
}

void run_tasks(ChunkGraph& graph, std::span<const ChunkRef> wanted, ThreadPool& pool,
               Memory& memory, RunControl& control) {
  std::vector<std::uint32_t> order = pending(graph, wanted);
  if (order.empty()) return;
  control.tasks += order.size();
  Run run(graph, std::move(order), pool.size(), memory, control);
  pool.run([&](std::size_t thread) { run.work(thread); }, [&] { run.wait(); });
  run.rethrow();
}

}  // namespace muster::engine
