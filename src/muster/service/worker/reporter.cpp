#include "muster/service/worker/reporter.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace muster::service {

namespace {

using engine::RunningTask;
using engine::TaskFailed;
using engine::TaskFinished;
using engine::WorkerId;

/// How often the thread looks for spilled chunks when nothing else happens.
constexpr Duration kLook = std::chrono::milliseconds(200);
/// More than these are not held back.
constexpr std::size_t kMany = 512;

bool is_outcome(const Report& report) {
  return std::holds_alternative<TaskFinished>(report.event) ||
         std::holds_alternative<TaskFailed>(report.event);
}

void sign(Report& report, WorkerId worker) {
  std::visit(
      [&](auto& event) {
        if constexpr (requires { event.worker; }) event.worker = worker;
      },
      report.event);
}

}  // namespace

Reporter::Reporter(std::size_t kernel_threads, ReporterNeeds needs)
    : needs_(std::move(needs)),
      begun_(kernel_threads),
      thread_([this](const std::stop_token& stop) { serve(stop); }) {}

Reporter::~Reporter() { stop(); }

void Reporter::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  flush();
}

void Reporter::wake() {
  if (!paused_ && (idle_ || waiting_.size() == kMany)) arrived_.notify_one();
}

void Reporter::append(Report report) {
  waiting_.push_back(std::move(report));
  wake();
}

void Reporter::add(engine::ScheduleEvent event) {
  Report report;
  report.event = std::move(event);
  const std::scoped_lock lock(mutex_);
  append(std::move(report));
}

void Reporter::started(std::uint32_t thread, RunningTask task) {
  const std::scoped_lock lock(mutex_);
  begun_[thread] = {task, false};
  ++starting_;
  wake();
}

void Reporter::ended(std::uint32_t thread, std::optional<Outcome> outcome) {
  const std::scoped_lock lock(mutex_);
  if (begun_[thread] && !begun_[thread]->told) --starting_;
  begun_[thread].reset();
  if (!outcome) return;
  append(outcome->report);
  outcomes_.add(std::move(*outcome));
}

void Reporter::ended(Outcome outcome) {
  const std::scoped_lock lock(mutex_);
  append(outcome.report);
  outcomes_.add(std::move(outcome));
}

/// `mutex_` must be held.
std::vector<Report> Reporter::take() {
  std::vector<Report> reports = std::exchange(waiting_, {});
  for (std::optional<Begun>& begun : begun_) {
    if (!begun || begun->told) continue;
    reports.emplace_back().event =
        engine::TaskStarted{worker_, begun->task.task, begun->task.attempt};
    begun->told = true;
  }
  starting_ = 0;
  const std::uint64_t spilled = needs_.spilled();
  if (spilled != told_spilled_)
    reports.emplace_back().event = engine::MemoryReported{worker_, spilled};
  told_spilled_ = spilled;
  for (Report& report : reports) sign(report, worker_);
  return reports;
}

void Reporter::flush() {
  const std::scoped_lock sending(send_mutex_);
  Reports reports;
  {
    const std::scoped_lock lock(mutex_);
    if (paused_ || broken_) return;
    reports.epoch = epoch_;
    reports.worker = worker_;
    reports.reports = take();
  }
  if (reports.reports.empty() || needs_.send(reports)) return;
  // Outcomes are in the log, and the next registration says the rest.
  broken_ = true;
}

void Reporter::pause() {
  const std::scoped_lock sending(send_mutex_);
  const std::scoped_lock lock(mutex_);
  paused_ = true;
  broken_ = false;
  waiting_.clear();
}

void Reporter::resume(std::uint64_t epoch, WorkerId worker) {
  {
    const std::scoped_lock lock(mutex_);
    // Those that came since `pause` are in the log too, if they are outcomes.
    std::erase_if(waiting_, is_outcome);
    std::vector<Report> again = outcomes_.tell_again(needs_.holds);
    waiting_.insert(waiting_.begin(), std::make_move_iterator(again.begin()),
                    std::make_move_iterator(again.end()));
    starting_ = 0;
    for (std::optional<Begun>& begun : begun_) {
      if (!begun) continue;
      begun->told = false;
      ++starting_;
    }
    epoch_ = epoch;
    worker_ = worker;
    told_spilled_ = 0;
    paused_ = false;
  }
  flush();
}

std::vector<engine::ChunkId> Reporter::made_by(engine::TaskId task) const {
  const std::scoped_lock lock(mutex_);
  return outcomes_.made_by(task);
}

void Reporter::serve(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    idle_ = true;
    arrived_.wait_for(lock, stop, kLook, [&] { return has_something() && !paused_; });
    idle_ = false;
    // Others may come: they go together.
    arrived_.wait_for(lock, stop, kSoon, [&] { return waiting_.size() >= kMany; });
    lock.unlock();
    flush();
    lock.lock();
  }
}

}  // namespace muster::service
