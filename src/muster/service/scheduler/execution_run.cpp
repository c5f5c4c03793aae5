#include "muster/service/scheduler/execution_run.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/wire/graphs.h"
#include "muster/service/protocol/failure.h"
#include "muster/service/python/pickled_function.h"

namespace muster::service {
namespace {

using namespace std::chrono_literals;
using engine::ArrayError;
using engine::ChunkRef;

/// The execution is over already; nothing more is to be said.
struct Abandoned {};

PlanOutline outline_of(const engine::Plan& plan) {
  PlanOutline outline;
  for (std::uint32_t step = 0; step < plan.steps.size(); ++step) {
    outline.operators.emplace_back(plan.steps[step].row->name);
    for (const engine::PlanRef input : plan.steps[step].inputs)
      outline.edges.emplace_back(input.step, step);
  }
  return outline;
}

template <class Number>
void read_option(const nlohmann::json& options, const char* name, Number least, Number most,
                 Number& into) {
  const auto found = options.find(name);
  if (found == options.end() || found->is_null()) return;
  if (!found->is_number_integer())
    engine::wrong_type(fmt::format("the option {} is no whole number", name));
  const auto value = found->get<std::int64_t>();
  if (value < static_cast<std::int64_t>(least) || value > static_cast<std::int64_t>(most))
    engine::wrong_value(
        fmt::format("the option {} is {}, but must be from {} to {}", name, value, least, most));
  into = static_cast<Number>(value);
}

}  // namespace

void ExecutionRun::operator()() {
  try {
    run();
  } catch (const Abandoned&) {
    sessions_.logs_.note(LogLevel::info,
                         "session {}: nobody waits for '{}' any more; {} tasks were made",
                         session_->id.value(), execution_->name(), made_);
  } catch (const ArrayError& error) {
    fail(std::string(kind_of(error.wrong())), error.what());
  } catch (const std::bad_alloc&) {
    fail("MemoryError", "the scheduler has no memory for the graph's tasks");
  } catch (const std::exception& error) {
    fail("RuntimeError", error.what());
  }
}

void ExecutionRun::fail(const std::string& kind, const std::string& text) {
  sessions_.end(*session_, *execution_, ExecutionState::failed, kind, text);
  if (begun_ && !sessions_.stopping_) sessions_.core_.cancel(session_->id, graph_);
}

void ExecutionRun::check_open() const {
  if (sessions_.stopping_ || execution_->cancelled() || execution_->over()) throw Abandoned();
  const std::scoped_lock lock(sessions_.mutex_);
  if (session_->closed) throw Abandoned();
}

void ExecutionRun::run() {
  check_open();
  std::vector<engine::Tensor> tensors = read();
  wait_for_workers();
  const engine::Options wishes = options();
  engine::Plan plan = engine::make_plan(tensors);
  check_open();
  (void)engine::optimise(plan, wishes);
  check_open();
  execution_->set_outline(outline_of(plan));
  begin();
  engine::ChunkGraph graph;
  graph.limit_tasks(sessions_.limits_.tasks);
  graph.watch([&] {
    made_ = graph.tasks().size();
    check_open();
  });
  Stager stager(graph);
  const std::vector<engine::Tiled> results = engine::tile_plan(
      plan, graph, wishes,
      [&](engine::ChunkGraph&, std::span<const ChunkRef> wanted) { stage(stager, wanted); });
  made_ = graph.tasks().size();
  submit_last(stager, tensors, results);
}

std::vector<engine::Tensor> ExecutionRun::read() {
  const Buffer bytes = execution_->graph_bytes();
  const engine::FindStored find =
      [&](std::string_view key) -> std::shared_ptr<const engine::Stored> {
    if (auto kept = execution_->find_input(key)) return kept;
    auto found = sessions_.tensor(session_, key);
    // It may have been released between the two looks.
    return found ? *found : execution_->find_input(key);
  };
  std::vector<engine::Tensor> tensors = engine::read_graph(
      bytes.bytes(), find, session_->trusted ? pickled_functions() : engine::MakeFunction());
  execution_->graph_was_read();
  if (tensors.size() != execution_->keys().size())
    engine::wrong_value(fmt::format("the graph has {} results, but {} keys were given for them",
                                    tensors.size(), execution_->keys().size()));
  return tensors;
}

engine::Options ExecutionRun::options() const {
  engine::Options out;
  const auto given = nlohmann::json::parse(execution_->options(), nullptr, false);
  if (given.is_object()) {
    read_option<std::size_t>(given, "chunk_store_limit", 1, std::size_t{1} << 40,
                             out.chunk_store_limit);
    read_option<int>(given, "combine_size", 2, 1'000'000, out.combine_size);
    read_option<int>(given, "rechunk_threshold", 1, 1'000'000, out.rechunk_threshold);
    read_option<std::size_t>(given, "rechunk_chunk_size_limit", 1, std::size_t{1} << 40,
                             out.rechunk_chunk_size_limit);
    if (const auto passes = given.find("disabled_passes"); passes != given.end())
      for (const auto& pass : *passes)
        if (pass.is_string()) out.disabled_passes.insert(pass.get<std::string>());
  }
  out.threads = std::max<std::size_t>(1, sessions_.core_.threads());
  out.memory_per_thread = sessions_.core_.memory_per_thread();
  return out;
}

/// How a graph is cut depends on who will run it; the first worker may still be on its way.
void ExecutionRun::wait_for_workers() const {
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (sessions_.core_.threads() == 0 && std::chrono::steady_clock::now() < until) {
    check_open();
    (void)execution_->wait_for_stage(50ms);
  }
}

void ExecutionRun::begin() {
  const std::scoped_lock lock(sessions_.mutex_);
  graph_ = engine::GraphId(session_->next_graph++);
  session_->by_graph[graph_] = execution_;
  execution_->begin(graph_);
}

Stage ExecutionRun::next_stage(Stager& stager, std::span<const ChunkRef> wanted) {
  const SessionLimits& limits = sessions_.limits_;
  Stage stage = stager.next(wanted, sessions_.core_.next_chunk(session_->id), limits.body_bytes,
                            [this] { check_open(); });
  if (const auto room = sessions_.has_room(session_->id, stage.tasks.size()); !room)
    engine::wrong_value(room.error().message());
  return stage;
}

void ExecutionRun::submit(Stage stage, bool last) {
  check_open();
  begun_ = true;
  sessions_.core_.submit(session_->id, graph_, execution_->name(), std::move(stage), last,
                         [this](Core::Range range) { execution_->add_range(range); });
}

void ExecutionRun::stage(Stager& stager, std::span<const ChunkRef> wanted) {
  // What failed since the last stage: there is no use in going on.
  if (const auto ended = execution_->last_end();
      ended && ended->outcome != engine::GraphOutcome::finished) {
    const Failure failure = read_failure(ended->report);
    throw ArrayError(failure.wrong, failure.text);
  }
  {
    const std::scoped_lock submitting(session_->submitting);
    Stage stage = next_stage(stager, wanted);
    execution_->before_stage();
    submit(std::move(stage), false);
  }
  std::optional<engine::GraphEnded> ended;
  while (!ended) {
    check_open();
    ended = execution_->wait_for_stage(200ms);
  }
  if (ended->outcome != engine::GraphOutcome::finished) {
    const Failure failure = read_failure(ended->report);
    throw ArrayError(failure.wrong, failure.text);
  }
  stager.finish([&](std::uint32_t chunk) { return sessions_.shape_of({session_->id, chunk}); });
}

void ExecutionRun::submit_last(Stager& stager, const std::vector<engine::Tensor>& tensors,
                               const std::vector<engine::Tiled>& results) {
  std::vector<ChunkRef> wanted;
  for (const engine::Tiled& result : results)
    wanted.insert(wanted.end(), result.chunks.begin(), result.chunks.end());
  const std::vector<std::uint32_t> before = stager.wanted_so_far();
  std::vector<TensorPlace> places;
  std::vector<std::uint32_t> kept;
  {
    const std::scoped_lock submitting(session_->submitting);
    Stage stage = next_stage(stager, wanted);
    kept = stage.wanted;
    for (std::size_t i = 0; i < results.size(); ++i) {
      TensorPlace place{execution_->keys()[i], graph_, tensors[i].dtype(), results[i].splits, {}};
      place.chunks.reserve(results[i].chunks.size());
      for (const ChunkRef chunk : results[i].chunks) place.chunks.push_back(stager.number(chunk));
      places.push_back(std::move(place));
    }
    execution_->before_last(places);
    stager.forget_tasks();
    submit(std::move(stage), true);
  }
  sessions_.core_.note(LastSubmitted{session_->id, execution_->name(), std::move(places)});
  std::vector<std::uint32_t> staged;
  std::set_difference(before.begin(), before.end(), kept.begin(), kept.end(),
                      std::back_inserter(staged));
  if (!staged.empty()) sessions_.core_.release(session_->id, graph_, std::move(staged));
  sessions_.answer_due(*execution_, std::chrono::steady_clock::now());
}

}  // namespace muster::service
