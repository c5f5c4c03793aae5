#include "muster/service/scheduler/execution.h"

#include <array>

namespace muster::service {
namespace {

// Of one execution; a client asks once at a time.
constexpr std::size_t kMostWaiters = 256;

}  // namespace

std::string_view name(ExecutionState state) {
  constexpr std::array<std::string_view, 5> kNames{"tiling", "running", "finished", "failed",
                                                   "cancelled"};
  return kNames.at(static_cast<std::size_t>(state));
}

void Execution::changed() { ++version_; }

Buffer Execution::graph_bytes() const {
  const std::scoped_lock lock(mutex_);
  return freed_ ? Buffer() : order_.graph;
}

nlohmann::json Execution::status() const {
  const std::scoped_lock lock(mutex_);
  nlohmann::json out{{"version", version_},
                     {"state", service::name(state_)},
                     {"done", done_},
                     {"total", total_},
                     {"bytes", bytes_}};
  if (!error_.empty()) {
    out["error"] = error_;
    out["kind"] = kind_;
  }
  return out;
}

ExecutionState Execution::state() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

void Execution::set_progress(std::uint32_t done, std::uint32_t total, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (is_over(state_)) return;
  done_ = done;
  total_ = total;
  bytes_ = bytes;
  changed();
}

bool Execution::end(ExecutionState state, std::string kind, std::string error) {
  const std::scoped_lock lock(mutex_);
  if (is_over(state_)) return false;
  state_ = state;
  kind_ = std::move(kind);
  error_ = std::move(error);
  if (state == ExecutionState::finished) done_ = total_;
  freed_ = true;
  inputs_.clear();
  results_.clear();
  changed();
  stage_ended_.notify_all();
  return true;
}

void Execution::cancel() {
  const std::scoped_lock lock(mutex_);
  cancelled_ = true;
  stage_ended_.notify_all();
}

bool Execution::cancelled() const {
  const std::scoped_lock lock(mutex_);
  return cancelled_;
}

void Execution::keep_input(const std::string& key, std::shared_ptr<const ClusterStored> stored) {
  const std::scoped_lock lock(mutex_);
  if (!last_ && !is_over(state_) && (!read_ || used_.contains(key)))
    inputs_.emplace(key, std::move(stored));
}

std::shared_ptr<const ClusterStored> Execution::find_input(std::string_view key) {
  const std::scoped_lock lock(mutex_);
  used_.emplace(key);
  const auto found = inputs_.find(key);
  return found == inputs_.end() ? nullptr : found->second;
}

Execution::Inputs Execution::inputs() const {
  const std::scoped_lock lock(mutex_);
  return inputs_;
}

void Execution::graph_was_read() {
  Inputs gone;
  const std::scoped_lock lock(mutex_);
  for (auto at = inputs_.begin(); at != inputs_.end();)
    if (used_.contains(at->first))
      ++at;
    else
      gone.insert(inputs_.extract(at++));
  read_ = true;
}

void Execution::begin(engine::GraphId graph) {
  const std::scoped_lock lock(mutex_);
  graph_ = graph;
  ended_.reset();
}

std::optional<engine::GraphId> Execution::graph() const {
  const std::scoped_lock lock(mutex_);
  return graph_;
}

void Execution::before_stage() {
  const std::scoped_lock lock(mutex_);
  ended_.reset();
}

void Execution::before_last(std::vector<TensorPlace> results) {
  Inputs gone;
  const std::scoped_lock lock(mutex_);
  if (is_over(state_)) return;
  gone.swap(inputs_);
  ended_.reset();
  last_ = true;
  results_ = std::move(results);
  state_ = ExecutionState::running;
  changed();
}

bool Execution::graph_ended(const engine::GraphEnded& ended) {
  const std::scoped_lock lock(mutex_);
  if (is_over(state_)) return false;
  // The first failure is the one that says why.
  if (!ended_ || ended_->outcome == engine::GraphOutcome::finished) ended_ = ended;
  stage_ended_.notify_all();
  return last_;
}

std::optional<engine::GraphEnded> Execution::wait_for_stage(Duration time) {
  std::unique_lock lock(mutex_);
  stage_ended_.wait_for(lock, time, [&] { return ended_ || cancelled_ || is_over(state_); });
  return ended_;
}

std::optional<engine::GraphEnded> Execution::last_end() const {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

bool Execution::is_last() const {
  const std::scoped_lock lock(mutex_);
  return last_;
}

std::vector<TensorPlace> Execution::results() const {
  const std::scoped_lock lock(mutex_);
  return results_;
}

void Execution::add_range(Core::Range range) {
  const std::scoped_lock lock(mutex_);
  if (range.last > range.first) ranges_.push_back(range);
}

std::vector<Core::Range> Execution::ranges() const {
  const std::scoped_lock lock(mutex_);
  return ranges_;
}

void Execution::set_outline(PlanOutline outline) {
  const std::scoped_lock lock(mutex_);
  outline_ = std::move(outline);
}

PlanOutline Execution::outline() const {
  const std::scoped_lock lock(mutex_);
  return outline_;
}

bool Execution::park(const Waiter& waiter) {
  const std::scoped_lock lock(mutex_);
  if (is_over(state_) || version_ > waiter.seen || waiters_.size() >= kMostWaiters) return false;
  waiters_.push_back(waiter);
  return true;
}

std::vector<comm::Message> Execution::due(TimePoint now) {
  std::vector<comm::Message> out;
  const std::scoped_lock lock(mutex_);
  std::erase_if(waiters_, [&](Waiter& waiter) {
    if (!is_over(state_) && version_ <= waiter.seen && now < waiter.deadline) return false;
    out.push_back(std::move(waiter.question));
    return true;
  });
  return out;
}

}  // namespace muster::service
