#include "muster/service/scheduler/sessions.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/service/errc.h"
#include "muster/service/protocol/failure.h"
#include "muster/service/scheduler/execution_run.h"

namespace muster::service {
namespace {

using engine::GraphId;
using engine::SessionId;

TensorPlace place_of(const std::string& key, const ClusterStored& tensor) {
  return {key, tensor.graph(), tensor.dtype(), tensor.splits(), tensor.chunks()};
}

}  // namespace

Sessions::Sessions(Core& core, LogRing& logs, std::size_t executions, SessionLimits limits)
    : core_(core),
      logs_(logs),
      limits_(limits),
      // Numbers of a scheduler that lost its journal must not be used again: workers may still
      // hold chunks of theirs.
      next_session_(static_cast<std::uint32_t>(secure_random_u64() >> 33)),
      runs_(std::max<std::size_t>(executions, 1), 100'000),
      finishing_(2, 1'000'000) {}

Sessions::~Sessions() { stop(); }

SessionId Sessions::next_session() const {
  const std::scoped_lock lock(mutex_);
  return SessionId(next_session_);
}

void Sessions::stop() {
  stopping_ = true;
  runs_.stop();
  finishing_.stop();
}

Result<SessionId> Sessions::open(const std::string& name, double timeout, bool trusted) {
  SessionOpened record;
  {
    const std::scoped_lock lock(mutex_);
    if (!name.empty())
      for (const auto& [id, session] : sessions_)
        if (session->name == name && session->trusted == trusted) {
          session->heard = std::chrono::steady_clock::now();
          return id;
        }
    if (sessions_.size() >= limits_.sessions)
      return fail(Errc::refused, fmt::format("there are {} sessions already, which is the limit",
                                             limits_.sessions));
    auto session = std::make_shared<Session>();
    session->id = SessionId(next_session_++);
    session->name = name;
    session->timeout = timeout;
    session->trusted = trusted;
    session->heard = std::chrono::steady_clock::now();
    record = {session->id, name, timeout, trusted};
    sessions_.emplace(session->id, std::move(session));
  }
  core_.note(record);
  logs_.note(LogLevel::info, "session {} ('{}') is open", record.session.value(), name);
  return record.session;
}

Result<std::shared_ptr<Session>> Sessions::find(SessionId id, Heard heard) {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end())
    return fail(
        Errc::not_found,
        fmt::format("there is no session {}: it was closed, or its time ran out", id.value()));
  if (heard == Heard::yes) found->second->heard = std::chrono::steady_clock::now();
  return found->second;
}

void Sessions::close(const std::shared_ptr<Session>& session, const std::string& why) {
  std::vector<std::shared_ptr<Execution>> executions;
  {
    const std::scoped_lock lock(mutex_);
    if (session->closed) return;
    session->closed = true;
    sessions_.erase(session->id);
    for (const auto& [name, execution] : session->executions) executions.push_back(execution);
    session->tensors.clear();
  }
  core_.note(SessionEnded{session->id});
  for (const auto& execution : executions) {
    execution->cancel();
    if (execution->end(ExecutionState::cancelled, "CancelledError", "the session was closed"))
      answer_due(*execution, std::chrono::steady_clock::now());
  }
  {
    // What is being submitted is submitted first, so that nothing comes after the end.
    const std::scoped_lock submitting(session->submitting);
    core_.close(session->id);
  }
  logs_.note(LogLevel::info, "session {} ('{}') is closed: {}", session->id.value(), session->name,
             why);
}

Result<void> Sessions::submit(const std::shared_ptr<Session>& session, Execution::Order order) {
  if (order.graph.size() > limits_.graph_bytes)
    return fail(
        Errc::invalid,
        fmt::format("the graph has {} bytes, but {} are the limit: upload large arrays first",
                    order.graph.size(), limits_.graph_bytes));
  std::shared_ptr<Execution> execution;
  {
    const std::scoped_lock lock(mutex_);
    if (session->closed) return fail(Errc::not_found, "the session is closed");
    if (session->executions.contains(order.name)) return {};
    if (session->executions.size() - session->over.size() >= limits_.executions)
      return fail(Errc::refused,
                  fmt::format("the session runs {} graphs already, which is the limit",
                              limits_.executions));
    if (session->tensors.size() + order.keys.size() > limits_.tensors)
      return fail(Errc::refused, fmt::format("the session has {} tensors; {} are the limit",
                                             session->tensors.size(), limits_.tensors));
    execution = std::make_shared<Execution>(std::move(order));
    session->executions.emplace(execution->name(), execution);
  }
  core_.note(ExecutionSubmitted{session->id, execution->name(), execution->keys(),
                                execution->options(), execution->graph_bytes()});
  run_later(session, execution);
  return {};
}

void Sessions::run_later(const std::shared_ptr<Session>& session,
                         const std::shared_ptr<Execution>& execution) {
  if (!runs_.post([this, session, execution] { ExecutionRun(*this, session, execution)(); }))
    end(*session, *execution, ExecutionState::failed, "RuntimeError",
        stopping_ ? "the scheduler stops" : "too many graphs wait to be run");
}

Result<std::shared_ptr<Execution>> Sessions::execution(const std::shared_ptr<Session>& session,
                                                       std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = session->executions.find(name);
  if (found == session->executions.end())
    return fail(Errc::not_found,
                fmt::format("session {} has no execution '{}'", session->id.value(), name));
  return found->second;
}

void Sessions::cancel(const std::shared_ptr<Session>& session,
                      const std::shared_ptr<Execution>& execution) {
  execution->cancel();
  end(*session, *execution, ExecutionState::cancelled, "CancelledError",
      "the execution was cancelled");
  if (const auto graph = execution->graph()) core_.cancel(session->id, *graph);
}

Result<std::shared_ptr<const ClusterStored>> Sessions::tensor(
    const std::shared_ptr<Session>& session, std::string_view key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = session->tensors.find(key);
  if (found == session->tensors.end())
    return fail(Errc::not_found,
                fmt::format("session {} has no tensor '{}'", session->id.value(), key));
  return found->second;
}

Result<std::shared_ptr<const ClusterStored>> Sessions::upload(
    const std::shared_ptr<Session>& session, const std::string& key, engine::DType dtype,
    engine::Splits splits) {
  Stage stage;
  stage.operator_names = {"upload"};
  stage.bodies = {Buffer()};
  TensorPlace place{key, {}, dtype, splits, {}};
  const std::scoped_lock submitting(session->submitting);
  if (auto ok = has_room(session->id, engine::chunk_count(splits)); !ok) return fail(ok.error());
  const std::uint32_t first = core_.next_chunk(session->id);
  engine::for_each_position(engine::grid_of(splits), [&](const engine::Shape& position) {
    const auto items = engine::volume(engine::extents_at(splits, position));
    const auto number = first + static_cast<std::uint32_t>(place.chunks.size());
    engine::TaskSpec spec;
    spec.output_bytes = {static_cast<std::uint64_t>(items) * engine::item_size(dtype)};
    spec.external = true;
    stage.tasks.push_back(std::move(spec));
    stage.staged.push_back({0, number, 0, false});
    place.chunks.push_back(number);
  });
  stage.wanted = place.chunks;
  std::shared_ptr<ClusterStored> made;
  {
    const std::scoped_lock lock(mutex_);
    if (session->closed) return fail(Errc::not_found, "the session is closed");
    if (session->tensors.size() >= limits_.tensors)
      return fail(Errc::refused, fmt::format("a session has at most {} tensors", limits_.tensors));
    place.graph = GraphId(session->next_graph++);
  }
  core_.submit(session->id, place.graph, {}, std::move(stage), true);
  made = make_tensor(*session, place);
  {
    const std::scoped_lock lock(mutex_);
    keep(*session, key, made);
  }
  core_.note(TensorKept{session->id, std::move(place)});
  return std::shared_ptr<const ClusterStored>(made);
}

Result<void> Sessions::has_room(SessionId session, std::size_t tasks) const {
  const auto live = core_.look([&](const Core::View& view) {
    const auto table = view.tasks.find(session);
    return table == view.tasks.end() ? std::uint32_t{0} : table->second.live();
  });
  if (live + tasks <= limits_.tasks) return {};
  return fail(
      Errc::refused,
      fmt::format("{} tasks more are needed, but a session has at most {} at a time and has "
                  "{}; make the chunks larger (chunk_size), or release results",
                  tasks, limits_.tasks, live));
}

void Sessions::release(const std::shared_ptr<Session>& session,
                       const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    {
      const std::scoped_lock lock(mutex_);
      if (!session->tensors.contains(key)) continue;
      let_go(*session, key);
    }
    core_.note(TensorReleased{session->id, key});
  }
  collect();
}

std::shared_ptr<ClusterStored> Sessions::make_tensor(const Session& session, TensorPlace place) {
  auto gone = [garbage = garbage_, id = session.id](GraphId graph,
                                                    std::vector<std::uint32_t> chunks) {
    const std::scoped_lock lock(garbage->mutex);
    garbage->items.push_back({id, graph, std::move(chunks)});
  };
  return std::make_shared<ClusterStored>(place.graph, place.dtype, std::move(place.splits),
                                         std::move(place.chunks), std::move(gone));
}

void Sessions::keep(Session& session, const std::string& key,
                    std::shared_ptr<const ClusterStored> tensor) {
  if (session.tensors.contains(key)) let_go(session, key);
  session.made_by[tensor->graph()].push_back(tensor);
  session.tensors.emplace(key, std::move(tensor));
}

void Sessions::let_go(Session& session, const std::string& key) {
  const auto found = session.tensors.find(key);
  // Executions that were submitted before it was released still find it.
  for (const auto& [name, execution] : session.executions)
    execution->keep_input(key, found->second);
  session.tensors.erase(found);
}

void Sessions::collect() {
  std::vector<Garbage::Item> items;
  {
    const std::scoped_lock lock(garbage_->mutex);
    items.swap(garbage_->items);
  }
  for (Garbage::Item& item : items) {
    std::sort(item.chunks.begin(), item.chunks.end());
    {
      const std::scoped_lock lock(mutex_);
      const auto session = sessions_.find(item.session);
      if (session == sessions_.end()) continue;
      auto& others = session->second->made_by[item.graph];
      std::erase_if(others, [](const auto& other) { return other.expired(); });
      for (const auto& weak : others) {
        const auto other = weak.lock();
        if (!other) continue;
        std::vector<std::uint32_t> shared = other->chunks();
        std::sort(shared.begin(), shared.end());
        std::vector<std::uint32_t> own;
        std::set_difference(item.chunks.begin(), item.chunks.end(), shared.begin(), shared.end(),
                            std::back_inserter(own));
        item.chunks = std::move(own);
      }
      if (others.empty()) session->second->made_by.erase(item.graph);
    }
    core_.release(item.session, item.graph, std::move(item.chunks));
  }
}

std::shared_ptr<Execution> Sessions::execution_of(SessionId session, GraphId graph) const {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return nullptr;
  const auto execution = found->second->by_graph.find(graph);
  return execution == found->second->by_graph.end() ? nullptr : execution->second.lock();
}

void Sessions::graph_ended(const engine::GraphEnded& ended) {
  const auto execution = execution_of(ended.session, ended.graph);
  if (!execution || !execution->graph_ended(ended)) return;
  std::shared_ptr<Session> session;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = sessions_.find(ended.session);
    if (found == sessions_.end()) return;
    session = found->second;
  }
  (void)finishing_.post([this, session, execution] { finish(session, execution); });
}

void Sessions::graph_progressed(const engine::GraphProgress& progress) {
  const auto execution = execution_of(progress.session, progress.graph);
  if (!execution) return;
  execution->set_progress(progress.done, progress.total, progress.bytes);
  answer_due(*execution, std::chrono::steady_clock::now());
}

void Sessions::answer_due(Execution& execution, TimePoint now) {
  const std::vector<comm::Message> due = execution.due(now);
  if (due.empty() || !answer_) return;
  const nlohmann::json status = execution.status();
  for (const comm::Message& question : due) answer_(question, status);
}

void Sessions::end(Session& session, Execution& execution, ExecutionState state, std::string kind,
                   std::string error) {
  if (stopping_ && state != ExecutionState::finished) return;  // the next life goes on with it
  if (!execution.end(state, kind, error)) return;
  core_.note(ExecutionEnded{session.id, execution.name(), static_cast<std::uint8_t>(state),
                            std::move(kind), std::move(error)});
  std::vector<std::shared_ptr<Execution>> forgotten;
  {
    const std::scoped_lock lock(mutex_);
    session.over.push_back(execution.name());
    if (const auto graph = execution.graph()) session.by_graph.erase(*graph);
    while (session.over.size() > limits_.remembered) {
      if (const auto found = session.executions.find(session.over.front());
          found != session.executions.end()) {
        forgotten.push_back(found->second);
        session.executions.erase(found);
      }
      session.over.erase(session.over.begin());
    }
  }
  answer_due(execution, std::chrono::steady_clock::now());
}

void Sessions::pass_time(TimePoint now) {
  std::vector<std::shared_ptr<Session>> late;
  std::vector<std::shared_ptr<Execution>> running;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, session] : sessions_) {
      if (session->timeout > 0 &&
          std::chrono::duration<double>(now - session->heard).count() > session->timeout)
        late.push_back(session);
      for (const auto& [name, execution] : session->executions) running.push_back(execution);
    }
  }
  for (const auto& execution : running) answer_due(*execution, now);
  for (const auto& session : late)
    close(session, fmt::format("nothing was heard from its client for {} s", session->timeout));
  collect();
  if (core_.wants_compaction()) compact();
}

void Sessions::compact() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::unique_lock<std::mutex>> submitting;
  std::vector<ServiceRecord> records;
  for (const auto& [id, session] : sessions_) {
    submitting.emplace_back(session->submitting, std::try_to_lock);
    if (!submitting.back().owns_lock() || !save(*session, records)) return;
  }
  core_.compact(records, SessionId(next_session_));
}

/// False when an execution is just ending.
bool Sessions::save(Session& session, std::vector<ServiceRecord>& into) {
  into.emplace_back(SessionOpened{session.id, session.name, session.timeout, session.trusted});
  for (const auto& [name, execution] : session.executions) {
    if (!execution->over() && execution->is_last() && execution->last_end()) return false;
    into.emplace_back(ExecutionSubmitted{session.id, name, execution->keys(), execution->options(),
                                         execution->graph_bytes()});
    if (const auto graph = execution->graph()) {
      ExecutionSaved begun{session.id, name, *graph, {}};
      for (const Core::Range range : execution->ranges()) {
        begun.ranges.push_back(range.first);
        begun.ranges.push_back(range.last);
      }
      into.emplace_back(std::move(begun));
    }
    for (const auto& [key, tensor] : execution->inputs())
      into.emplace_back(TensorKept{session.id, place_of(key, *tensor)});
    for (const auto& [key, tensor] : execution->inputs())
      into.emplace_back(TensorReleased{session.id, key});
    if (execution->is_last() && !execution->over())
      into.emplace_back(LastSubmitted{session.id, name, execution->results()});
    if (execution->over()) {
      const nlohmann::json status = execution->status();
      into.emplace_back(ExecutionEnded{session.id, name,
                                       static_cast<std::uint8_t>(execution->state()),
                                       status.value("kind", ""), status.value("error", "")});
    }
  }
  for (const auto& [key, tensor] : session.tensors)
    into.emplace_back(TensorKept{session.id, place_of(key, *tensor)});
  return true;
}

}  // namespace muster::service
