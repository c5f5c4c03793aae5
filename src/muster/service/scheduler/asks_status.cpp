#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "muster/service/scheduler/ask_arguments.h"
#include "muster/service/scheduler/asks.h"

// What people look at.

namespace muster::service {
namespace {

using engine::TaskPhase;

std::string_view name(TaskPhase phase) {
  constexpr std::array<std::string_view, 6> kNames{"idle",     "waiting", "ready",
                                                   "assigned", "running", "done"};
  return kNames.at(static_cast<std::size_t>(phase));
}

std::string_view name(const WorkerEntry& worker, engine::WorkerHealth health) {
  if (worker.state == WorkerEntry::State::known) return "away";
  switch (health) {
    case engine::WorkerHealth::gone: return "lost";
    case engine::WorkerHealth::well: return "well";
    case engine::WorkerHealth::silent: return "silent";
    case engine::WorkerHealth::leaving: return "leaving";
  }
  return "lost";
}

std::optional<Answer> said(nlohmann::json body) { return Answer{200, std::move(body), {}}; }

/// Calls `each(task, view)` for the tasks of an execution that are remembered, a part at a time, so
/// that others get their turn. `each` says whether to go on.
template <class Each>
void for_tasks(const Core& core, const Execution& execution, Each&& each) {
  constexpr std::uint32_t kPart = 10'000;
  bool go_on = true;
  for (const Core::Range range : execution.ranges())
    for (std::uint32_t at = range.first; at < range.last && go_on; at += kPart)
      core.look([&](const Core::View& view) {
        const auto table = view.tasks.find(execution.session());
        if (table == view.tasks.end()) return go_on = false;
        for (std::uint32_t task = at; task < std::min(at + kPart, range.last) && go_on; ++task)
          if (const TaskTable::Entry* const entry = table->second.find(task))
            go_on = each(task, *entry, view);
        return go_on;
      });
}

}  // namespace

std::optional<Answer> Asks::cluster(const Ask&, const comm::Message&) {
  nlohmann::json out{
      {"epoch", core_.epoch()},
      {"uptime",
       std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count()}};
  std::size_t sessions = 0;
  std::size_t executions = 0;
  sessions_.each([&](const Session& session) {
    ++sessions;
    executions += session.executions.size() - session.over.size();
  });
  out["sessions"] = sessions;
  out["executions"] = executions;
  core_.look([&](const Core::View& view) {
    auto workers = nlohmann::json::array();
    std::uint64_t threads = 0;
    std::uint64_t memory = 0;
    std::uint64_t used = 0;
    std::uint64_t spilled = 0;
    for (const auto& [id, worker] : view.workers.all()) {
      if (worker.is_lost()) continue;
      const engine::WorkerView seen = view.scheduler.worker(worker.id);
      threads += seen.threads;
      memory += seen.budget;
      used += seen.held;
      spilled += seen.spilled;
      workers.push_back({{"worker", id},
                         {"name", worker.name},
                         {"host", worker.host},
                         {"pid", worker.pid},
                         {"metrics", worker.metrics},
                         {"state", name(worker, seen.health)},
                         {"threads", seen.threads},
                         {"memory", seen.budget},
                         {"used", seen.held},
                         {"spilled", seen.spilled},
                         {"running", seen.attempts},
                         {"queued", seen.ready},
                         {"finished", worker.tasks}});
    }
    const engine::ScheduleCounts counts = view.scheduler.counts();
    out["workers"] = std::move(workers);
    out["threads"] = threads;
    out["memory"] = memory;
    out["used"] = used;
    out["spilled"] = spilled;
    out["tasks"] = {{"remembered", counts.tasks},         {"ready", counts.ready},
                    {"given", counts.attempts},           {"submitted", view.counters.submitted},
                    {"finished", view.counters.finished}, {"failed", view.counters.failed}};
    out["chunks"] = counts.chunks;
    out["workers_lost"] = view.counters.workers_lost;
    out["journal"] = {{"bytes", view.journal_bytes}, {"error", view.journal_failure}};
    return true;
  });
  return said(std::move(out));
}

std::optional<Answer> Asks::sessions(const Ask&, const comm::Message&) {
  auto list = nlohmann::json::array();
  std::vector<std::pair<engine::SessionId, std::vector<std::uint32_t>>> chunks;
  sessions_.each([&](const Session& session) {
    auto executions = nlohmann::json::array();
    for (const auto& [name, execution] : session.executions) {
      nlohmann::json status = execution->status();
      status["execution"] = name;
      executions.push_back(std::move(status));
    }
    chunks.emplace_back(session.id, std::vector<std::uint32_t>());
    for (const auto& [key, tensor] : session.tensors)
      chunks.back().second.insert(chunks.back().second.end(), tensor->chunks().begin(),
                                  tensor->chunks().end());
    list.push_back({{"session", session.id.value()},
                    {"name", session.name},
                    {"trusted", session.trusted},
                    {"tensors", session.tensors.size()},
                    {"executions", std::move(executions)}});
  });
  for (std::size_t i = 0; i < chunks.size(); ++i)
    list[i]["bytes"] = core_.look([&](const Core::View& view) {
      std::uint64_t bytes = 0;
      for (const std::uint32_t chunk : chunks[i].second)
        if (const auto seen = view.scheduler.chunk({chunks[i].first, chunk})) bytes += seen->bytes;
      return bytes;
    });
  return said({{"sessions", std::move(list)}});
}

std::optional<Answer> Asks::tasks(const Ask& ask, const comm::Message&) {
  const auto execution = execution_of(session_of(ask), ask);
  const Arguments arguments(ask.arguments);
  const std::size_t limit = arguments.number_or("limit", 100'000, 1000);
  const std::string state = arguments.text_or("state", {});
  auto list = nlohmann::json::array();
  struct Count {
    std::uint64_t total = 0;
    std::uint64_t done = 0;
  };
  std::map<std::string, Count, std::less<>> operators;
  for_tasks(core_, *execution,
            [&](std::uint32_t task, const TaskTable::Entry&, const Core::View& view) {
              const auto seen = view.scheduler.task({execution->session(), task});
              if (!seen) return true;
              auto count = operators.find(seen->operator_name);
              if (count == operators.end())
                count = operators.emplace(std::string(seen->operator_name), Count{}).first;
              ++count->second.total;
              if (seen->phase == TaskPhase::done) ++count->second.done;
              if (list.size() >= limit || (!state.empty() && state != name(seen->phase)))
                return true;
              nlohmann::json one{
                  {"task", task}, {"operator", seen->operator_name}, {"state", name(seen->phase)}};
              if (seen->worker) {
                if (const WorkerEntry* const worker = view.workers.find(*seen->worker))
                  one["worker"] = worker->name;
                one["attempt"] = seen->attempt;
                if (seen->started >= 0)
                  one["seconds"] = static_cast<double>(view.now - seen->started) * 1e-9;
              }
              list.push_back(std::move(one));
              return true;
            });
  auto counts = nlohmann::json::array();
  for (const auto& [each, count] : operators)
    counts.push_back({{"operator", each}, {"total", count.total}, {"done", count.done}});
  return said({{"tasks", std::move(list)}, {"operators", std::move(counts)}});
}

std::optional<Answer> Asks::graph(const Ask& ask, const comm::Message&) {
  const auto execution = execution_of(session_of(ask), ask);
  const PlanOutline outline = execution->outline();
  struct Count {
    std::uint64_t tasks = 0;
    std::uint64_t done = 0;
  };
  std::vector<Count> counts(outline.operators.size());
  for_tasks(core_, *execution,
            [&](std::uint32_t task, const TaskTable::Entry& entry, const Core::View& view) {
              if (entry.step >= counts.size()) return true;
              ++counts[entry.step].tasks;
              const auto seen = view.scheduler.task({execution->session(), task});
              if (seen && seen->phase == TaskPhase::done) ++counts[entry.step].done;
              return true;
            });
  auto nodes = nlohmann::json::array();
  for (std::size_t i = 0; i < counts.size(); ++i)
    nodes.push_back({{"id", i},
                     {"operator", outline.operators[i]},
                     {"tasks", counts[i].tasks},
                     {"done", counts[i].done}});
  auto edges = nlohmann::json::array();
  for (const auto& [from, to] : outline.edges) edges.push_back({from, to});
  return said({{"nodes", std::move(nodes)}, {"edges", std::move(edges)}});
}

std::optional<Answer> Asks::logs(const Ask& ask, const comm::Message&) {
  return said({{"lines", logs_.last(Arguments(ask.arguments).number_or("lines", 100'000, 100))}});
}

std::optional<Answer> Asks::metrics(const Ask&, const comm::Message&) {
  return Answer{200, nlohmann::json::object(),
                Buffer::copy_of(as_bytes(metrics_text(core_, sessions_)))};
}

std::string metrics_text(const Core& core, const Sessions& sessions) {
  std::string out;
  const auto metric = [&](std::string_view name, std::string_view type, std::string_view help,
                          std::uint64_t value) {
    out += fmt::format(
        "# HELP muster_scheduler_{0} {2}\n# TYPE muster_scheduler_{0} {1}\n"
        "muster_scheduler_{0} {3}\n",
        name, type, help, value);
  };
  std::size_t open = 0;
  std::size_t executions = 0;
  sessions.each([&](const Session& session) {
    ++open;
    executions += session.executions.size() - session.over.size();
  });
  metric("sessions", "gauge", "Sessions that are open.", open);
  metric("executions", "gauge", "Graphs that are being run.", executions);
  core.look([&](const Core::View& view) {
    const engine::ScheduleCounts counts = view.scheduler.counts();
    metric("workers", "gauge", "Workers.", counts.workers);
    metric("tasks_remembered", "gauge", "Tasks that may have to run again.", counts.tasks);
    metric("tasks_ready", "gauge", "Tasks that wait for a worker.", counts.ready);
    metric("tasks_given", "gauge", "Tasks that workers have.", counts.attempts);
    metric("chunks", "gauge", "Chunks that are known.", counts.chunks);
    metric("journal_bytes", "gauge", "Length of the journal.", view.journal_bytes);
    metric("journal_failed", "gauge", "1 when the journal cannot be written.",
           view.journal_failure.empty() ? 0 : 1);
    metric("tasks_submitted_total", "counter", "Tasks submitted.", view.counters.submitted);
    metric("tasks_finished_total", "counter", "Tasks finished.", view.counters.finished);
    metric("tasks_failed_total", "counter", "Tasks failed.", view.counters.failed);
    metric("made_bytes_total", "counter", "Bytes of chunks made.", view.counters.made_bytes);
    metric("orders_total", "counter", "Orders sent to workers.", view.counters.orders);
    metric("order_messages_total", "counter", "Messages they went in.", view.counters.messages);
    metric("workers_lost_total", "counter", "Workers that were lost.", view.counters.workers_lost);
    return true;
  });
  return out;
}

}  // namespace muster::service
