#include "muster/service/python/python_pool.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/engine/errors.h"
#include "muster/runtime/resources.h"
#include "muster/service/python/interpreter.h"
#include "muster/service/python/process_lost.h"

namespace muster::service {

using engine::ArrayError;
using engine::Wrong;

/// A thread's place among the calls: waits for a process that it may use, and leaves at the end.
class PythonPool::Entry {
 public:
  Entry(PythonPool& pool, const SharedFunction& function) : pool_(pool) {
    Lock lock(pool_.mutex_);
    auto [place, fresh] = pool_.calls_.try_emplace(std::this_thread::get_id());
    if (!fresh) throw ArrayError(Wrong::other, "a thread makes one call at a time");
    place_ = place;
    const auto ready = [&] {
      return pool_.stopped_ || place_->second.cancelled || pool_.busy_ < pool_.most_;
    };
    pool_.changed_.wait(lock, ready);
    try {
      pool_.check(place_->second, function);
    } catch (...) {
      pool_.calls_.erase(place_);
      pool_.changed_.notify_all();
      throw;
    }
    ++pool_.busy_;
    ++pool_.counts_.calls;
  }
  ~Entry() {
    const std::lock_guard lock(pool_.mutex_);
    --pool_.busy_;
    pool_.calls_.erase(place_);
    pool_.changed_.notify_all();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  [[nodiscard]] Call& call() { return place_->second; }

 private:
  PythonPool& pool_;
  std::map<std::thread::id, Call>::iterator place_;
};

/// While it lives, the call can be ended from outside.
class PythonPool::Reachable {
 public:
  Reachable(PythonPool& pool, Call& call, const SharedFunction& function, PythonProcess& process)
      : pool_(pool), call_(call) {
    const std::lock_guard lock(pool_.mutex_);
    pool_.check(call_, function);
    call_.process = &process;
  }
  ~Reachable() {
    const std::lock_guard lock(pool_.mutex_);
    call_.process = nullptr;
  }
  Reachable(const Reachable&) = delete;
  Reachable& operator=(const Reachable&) = delete;

 private:
  PythonPool& pool_;
  Call& call_;
};

Result<std::shared_ptr<PythonPool>> PythonPool::make(const PythonPoolOptions& options) {
  FileDescriptor arena;
  if (options.store) {
    auto file = options.store->reader_file();
    if (!file) return fail(file.error());
    arena = std::move(*file);
  }
  return std::shared_ptr<PythonPool>(new PythonPool(options, std::move(arena)));
}

PythonPool::PythonPool(const PythonPoolOptions& options, FileDescriptor arena)
    : options_(options),
      most_(options.processes > 0 ? options.processes : usable_processors()),
      arena_(std::move(arena)) {
  if (options_.idle_limit)
    retiring_ = std::jthread([this](const std::stop_token& stop) { retire(stop); });
}

PythonPool::~PythonPool() { stop(); }

void PythonPool::call(const SharedFunction& function, engine::KernelContext& context) {
  Entry entry(*this, function);
  Process process = take(function);
  auto answer = converse(entry.call(), *process, function, context);
  if (!answer) bury(std::move(process), entry.call(), function, answer.error());
  auto reply = read_reply(*answer, function.name, context.outputs().size());
  if (!reply) bury(std::move(process), entry.call(), function, reply.error());
  give_back(std::move(process));
  if (reply->raised) {
    const std::lock_guard lock(mutex_);
    ++counts_.raised;
    throw ArrayError(*reply->raised);
  }
  for (std::size_t output = 0; output < reply->outputs.size(); ++output)
    context.set(output, std::move(reply->outputs[output]));
}

void PythonPool::cancel(std::thread::id thread) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(thread);
  if (found == calls_.end()) return;
  found->second.cancelled = true;
  if (found->second.process != nullptr) found->second.process->kill();
  changed_.notify_all();
}

void PythonPool::stop() {
  std::vector<Idle> idle;
  {
    Lock lock(mutex_);
    stopped_ = true;
    for (const auto& [thread, call] : calls_)
      if (call.process != nullptr) call.process->kill();
    idle.swap(idle_);
    changed_.notify_all();
  }
  for (const Idle& each : idle) each.process->leave();
  retiring_.request_stop();
  Lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(15), [this] { return calls_.empty(); });
}

PythonPoolStats PythonPool::stats() const {
  const std::lock_guard lock(mutex_);
  PythonPoolStats stats = counts_;
  stats.most = most_;
  stats.busy = busy_;
  stats.processes = busy_ + idle_.size();
  for (const Idle& each : idle_) stats.memory += each.process->own_memory();
  for (const auto& [thread, call] : calls_)
    if (call.process != nullptr) stats.memory += call.process->own_memory();
  return stats;
}

/// `mutex_` must be held.
void PythonPool::check(const Call& call, const SharedFunction& function) const {
  if (stopped_)
    throw PythonProcessLost(fmt::format("'{}' was not called: the worker stops", function.name));
  if (call.cancelled)
    throw ArrayError(Wrong::cancelled,
                     fmt::format("the call of '{}' was cancelled", function.name));
}

/// Prefers one that has the function already.
PythonPool::Process PythonPool::take(const SharedFunction& function) {
  Lock lock(mutex_);
  Process process;
  while (!process && !idle_.empty()) {
    auto chosen = std::ranges::find_if(
        idle_, [&](const Idle& each) { return each.process->knows(function.id); });
    if (chosen == idle_.end()) chosen = idle_.end() - 1;
    process = std::move(chosen->process);
    idle_.erase(chosen);
    if (process->has_ended()) process.reset();
  }
  lock.unlock();
  return process ? std::move(process) : start();
}

PythonPool::Process PythonPool::start() {
  auto interpreter = find_interpreter(options_.python);
  if (!interpreter) throw PythonProcessLost(interpreter.error().message());
  PythonProcessOptions options = options_.process;
  options.interpreter = std::move(*interpreter);
  auto process = PythonProcess::start(spawner_, options, arena_.get());
  if (!process) throw PythonProcessLost(process.error().message());
  log(LogLevel::info, "python", "process {} runs functions ({})", (*process)->pid(),
      options.interpreter);
  return std::move(*process);
}

Result<Frame> PythonPool::converse(Call& call, PythonProcess& process,
                                   const SharedFunction& function, engine::KernelContext& context) {
  const Reachable reachable(*this, call, function, process);
  CallOptions options;
  if (options_.store) options.arena = options_.store->memory();
  options.most_output = options_.most_output;
  if (options.most_output == 0)
    options.most_output =
        options_.store ? options.arena.size() : std::numeric_limits<std::int64_t>::max();
  options.with_function = !process.knows(function.id);
  if (options.with_function) options.forget = process.learn(function.id, function.pickled.size());
  const auto request = pack_call(function, context, options);
  if (!request) return fail(request.error());
  Deadline deadline;
  if (options_.call_limit) deadline = SteadyClock().now() + *options_.call_limit;
  return process.exchange(*request, deadline);
}

void PythonPool::bury(Process process, const Call& call, const SharedFunction& function,
                      const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    ++counts_.lost;
    check(call, function);
  }
  if (error.code() == std::errc::timed_out)
    throw ArrayError(
        Wrong::timeout,
        fmt::format("'{}' took longer than the {} s that a call may take, and was killed",
                    function.name, std::chrono::duration<double>(*options_.call_limit).count()));
  const pid_t pid = process->pid();
  const bool died = error.code() == std::errc::connection_reset;
  const std::string how = died ? process->obituary() : error.message();
  log(LogLevel::warning, "python", "process {}, which ran '{}', is lost: {}", pid, function.name,
      how);
  throw PythonProcessLost(
      fmt::format("the Python process that ran '{}' is lost: {}", function.name, how));
}

void PythonPool::give_back(Process process) {
  const bool worn = process->is_worn();
  {
    const std::lock_guard lock(mutex_);
    if (worn) ++counts_.recycled;
    if (!worn && !stopped_) {
      idle_.push_back({std::move(process), SteadyClock().now()});
      idled_.notify_one();
      return;
    }
  }
  process->leave();
}

/// Ends processes that have had nothing to do for too long.
void PythonPool::retire(const std::stop_token& stop) {
  Lock lock(mutex_);
  // `stop` ends it.
  while (idled_.wait(lock, stop, [this] { return !idle_.empty(); })) {
    const TimePoint end = idle_.front().since + *options_.idle_limit;
    if (SteadyClock().now() < end) {
      // Taken meanwhile, or not: the next one has its own time.
      (void)idled_.wait_until(lock, stop, end, [] { return false; });
      if (stop.stop_requested()) return;
      continue;
    }
    const Process process = std::move(idle_.front().process);
    idle_.erase(idle_.begin());
    ++counts_.retired;
    lock.unlock();
    log(LogLevel::info, "python", "process {} ends: it had nothing to do", process->pid());
    process->leave();
    lock.lock();
  }
}

}  // namespace muster::service
