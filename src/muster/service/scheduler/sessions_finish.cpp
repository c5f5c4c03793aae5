#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/service/protocol/failure.h"
#include "muster/service/scheduler/sessions.h"

// How executions end, and how they go on after a restart.

namespace muster::service {

using engine::GraphOutcome;
using engine::SessionId;

void Sessions::finish(const std::shared_ptr<Session>& session,
                      const std::shared_ptr<Execution>& execution) {
  const auto ended = execution->last_end();
  if (!ended || execution->over()) return;
  if (ended->outcome != GraphOutcome::finished) {
    const Failure failure = read_failure(ended->report);
    const bool cancelled = ended->outcome == GraphOutcome::cancelled;
    return end(*session, *execution, cancelled ? ExecutionState::cancelled : ExecutionState::failed,
               cancelled ? "CancelledError" : std::string(kind_of(failure.wrong)), failure.text);
  }
  std::vector<TensorPlace> places;
  try {
    places = with_sizes(*session, execution->results());
  } catch (const std::exception& error) {
    if (execution->graph()) core_.cancel(session->id, *execution->graph());
    return end(*session, *execution, ExecutionState::failed, "RuntimeError", error.what());
  }
  for (TensorPlace& place : places) {
    auto tensor = make_tensor(*session, place);
    {
      const std::scoped_lock lock(mutex_);
      if (session->closed) return;
      keep(*session, place.key, std::move(tensor));
    }
    // Noted when it is there: a journal that begins anew in between has it too.
    core_.note(TensorKept{session->id, std::move(place)});
  }
  if (const auto graph = execution->graph()) {
    const engine::GraphProgress all = core_.look(
        [&](const Core::View& view) { return view.scheduler.progress(session->id, *graph); });
    if (all.total > 0) execution->set_progress(all.done, all.total, all.bytes);
  }
  end(*session, *execution, ExecutionState::finished, {}, {});
}

/// Fills in the extents that were unknown when the last tasks were submitted.
std::vector<TensorPlace> Sessions::with_sizes(const Session& session,
                                              std::vector<TensorPlace> places) const {
  for (TensorPlace& place : places) {
    const engine::Shape grid = engine::grid_of(place.splits);
    for (std::size_t axis = 0; axis < place.splits.size(); ++axis)
      for (engine::Index i = 0; i < grid[axis]; ++i) {
        engine::Index& extent = place.splits[axis][static_cast<std::size_t>(i)];
        if (extent != engine::kUnknown) continue;
        engine::Shape position(grid.size(), 0);
        position[axis] = i;
        const std::uint32_t chunk = place.chunks[engine::number_of(position, grid)];
        const engine::Shape shape = shape_of({session.id, chunk});
        if (axis >= shape.size())
          engine::wrong_value(fmt::format("chunk {} has {} axes instead of {}", chunk, shape.size(),
                                          place.splits.size()));
        extent = shape[axis];
      }
  }
  return places;
}

engine::Shape Sessions::shape_of(engine::ChunkId chunk) const {
  if (auto shape = core_.learnt(chunk)) return *std::move(shape);
  // It was made, but the report got lost with a scheduler: the chunk itself knows.
  for (int tries = 0; tries < 5 && fetch_shape_ && !stopping_; ++tries)
    if (auto shape = fetch_shape_(chunk)) return *std::move(shape);
  throw engine::ArrayError(engine::Wrong::other,
                           fmt::format("the sizes of chunk {} of session {} did not become known",
                                       chunk.index, chunk.session.value()));
}

Core::Replay Sessions::replaying() {
  return {[this](ServiceRecord record) { replay(std::move(record)); },
          [this](const StageSubmitted& stage, Core::Range range) {
            const std::scoped_lock lock(mutex_);
            const auto session = sessions_.find(stage.session);
            if (session == sessions_.end()) return;
            session->second->next_graph =
                std::max(session->second->next_graph, stage.graph.value() + 1);
            const auto execution = session->second->executions.find(stage.execution);
            if (execution == session->second->executions.end()) return;
            execution->second->begin(stage.graph);
            execution->second->add_range(range);
            session->second->by_graph[stage.graph] = execution->second;
          },
          [this](const engine::GraphEnded& ended) {
            if (const auto execution = execution_of(ended.session, ended.graph))
              (void)execution->graph_ended(ended);
          }};
}

void Sessions::replay(ServiceRecord record) {
  const std::scoped_lock lock(mutex_);
  const auto session_of = [&](SessionId id) -> Session* {
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : found->second.get();
  };
  const auto execution_in = [&](SessionId id, const std::string& name) -> Execution* {
    Session* const session = session_of(id);
    if (session == nullptr) return nullptr;
    const auto found = session->executions.find(name);
    return found == session->executions.end() ? nullptr : found->second.get();
  };
  if (auto* const opened = std::get_if<SessionOpened>(&record)) {
    if (sessions_.contains(opened->session)) return;
    auto session = std::make_shared<Session>();
    session->id = opened->session;
    session->name = std::move(opened->name);
    session->timeout = opened->timeout;
    session->trusted = opened->trusted;
    session->heard = std::chrono::steady_clock::now();
    next_session_ = opened->session.value() + 1;
    sessions_[session->id] = std::move(session);
  } else if (const auto* const ended = std::get_if<SessionEnded>(&record)) {
    if (Session* const session = session_of(ended->session)) session->closed = true;
    sessions_.erase(ended->session);
  } else if (auto* const submitted = std::get_if<ExecutionSubmitted>(&record)) {
    Session* const session = session_of(submitted->session);
    if (session == nullptr) return;
    auto execution = std::make_shared<Execution>(
        Execution::Order{submitted->session, submitted->execution, std::move(submitted->keys),
                         std::move(submitted->options), std::move(submitted->graph)});
    session->executions.emplace(submitted->execution, std::move(execution));
  } else if (const auto* const saved = std::get_if<ExecutionSaved>(&record)) {
    Session* const session = session_of(saved->session);
    if (session == nullptr) return;
    session->next_graph = std::max(session->next_graph, saved->graph.value() + 1);
    const auto found = session->executions.find(saved->execution);
    if (found == session->executions.end()) return;
    found->second->begin(saved->graph);
    for (std::size_t i = 0; i + 1 < saved->ranges.size(); i += 2)
      found->second->add_range({saved->ranges[i], saved->ranges[i + 1]});
    session->by_graph[saved->graph] = found->second;
  } else if (auto* const last = std::get_if<LastSubmitted>(&record)) {
    if (Execution* const execution = execution_in(last->session, last->execution)) {
      const auto end_of_graph = execution->last_end();
      execution->before_last(std::move(last->results));
      if (end_of_graph) (void)execution->graph_ended(*end_of_graph);
    }
  } else if (auto* const over = std::get_if<ExecutionEnded>(&record)) {
    if (Execution* const execution = execution_in(over->session, over->execution)) {
      if (execution->end(static_cast<ExecutionState>(over->state), std::move(over->kind),
                         std::move(over->error)))
        session_of(over->session)->over.push_back(over->execution);
    }
  } else if (auto* const kept = std::get_if<TensorKept>(&record)) {
    if (Session* const session = session_of(kept->session)) {
      const std::string key = kept->tensor.key;
      session->next_graph = std::max(session->next_graph, kept->tensor.graph.value() + 1);
      keep(*session, key, make_tensor(*session, std::move(kept->tensor)));
    }
  } else if (const auto* const released = std::get_if<TensorReleased>(&record)) {
    Session* const session = session_of(released->session);
    if (session != nullptr && session->tensors.contains(released->key))
      let_go(*session, released->key);
  }
}

void Sessions::start(FetchShape fetch_shape, Answer answer) {
  fetch_shape_ = std::move(fetch_shape);
  answer_ = std::move(answer);
  std::vector<std::pair<std::shared_ptr<Session>, std::shared_ptr<Execution>>> left;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, session] : sessions_)
      for (const auto& [name, execution] : session->executions)
        if (!execution->over()) left.emplace_back(session, execution);
  }
  for (const auto& [session, execution] : left) {
    if (execution->is_last()) {
      if (execution->last_end())
        (void)finishing_.post([this, of = session, ended = execution] { finish(of, ended); });
      continue;
    }
    // It was being tiled: that begins anew, and what there was of it goes.
    if (const auto graph = execution->graph()) {
      {
        const std::scoped_lock lock(mutex_);
        session->by_graph.erase(*graph);
      }
      core_.cancel(session->id, *graph);
    }
    run_later(session, execution);
  }
  if (!left.empty()) logs_.note(LogLevel::info, "{} executions go on", left.size());
}

}  // namespace muster::service
