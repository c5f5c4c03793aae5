// Prints what the scheduler itself costs, without workers: for 1,000 to 1,000,000 tasks on 10 and
// 1,000 workers one line {"graph": G, "tasks": N, "workers": W, "submit_us": S, "run_us": R} each,
// in microseconds per task. Every task is started, finished and its chunk dropped.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "muster/engine/schedule/scheduler.h"

namespace {

using namespace muster::engine;

// Sources and a binary tree above them.
GraphSubmitted tree(std::uint32_t tasks) {
  GraphSubmitted graph{SessionId(0), GraphId(0), {"sum"}, {}, {}, true};
  const std::uint32_t leaves = (tasks + 1) / 2;
  for (std::uint32_t i = 0; i < leaves; ++i) graph.tasks.push_back({.output_bytes = {1000}});
  for (std::uint32_t i = 0; i + 1 < leaves; ++i)
    graph.tasks.push_back({.inputs = {2 * i, 2 * i + 1}, .output_bytes = {1000}});
  graph.wanted = {static_cast<std::uint32_t>(graph.tasks.size() - 1)};
  return graph;
}

// Two tasks per chunk: it is made, then changed.
GraphSubmitted pairs(std::uint32_t tasks) {
  GraphSubmitted graph{SessionId(0), GraphId(0), {"add"}, {}, {}, true};
  for (std::uint32_t i = 0; i < tasks / 2; ++i) graph.tasks.push_back({.output_bytes = {1000}});
  for (std::uint32_t i = 0; i < tasks / 2; ++i) {
    graph.tasks.push_back({.inputs = {i}, .output_bytes = {1000}});
    graph.wanted.push_back(tasks / 2 + i);
  }
  return graph;
}

// Squares of mappers and reducers, of about the given number of tasks and 64 edges for each.
GraphSubmitted shuffle(std::uint32_t tasks) {
  constexpr std::uint32_t kWide = 64;
  GraphSubmitted graph{SessionId(0), GraphId(0), {"map"}, {}, {}, true};
  std::uint32_t chunk = 0;
  for (std::uint32_t made = 0; made < tasks; made += 2 * kWide) {
    const std::uint32_t first = chunk;
    for (std::uint32_t i = 0; i < kWide; ++i, chunk += kWide)
      graph.tasks.push_back(
          {.output_bytes = std::vector<std::uint64_t>(kWide, 10), .scatter = true});
    for (std::uint32_t r = 0; r < kWide; ++r, ++chunk) {
      TaskSpec reducer{.output_bytes = {1000}};
      for (std::uint32_t i = 0; i < kWide; ++i) reducer.inputs.push_back(first + i * kWide + r);
      graph.tasks.push_back(std::move(reducer));
      graph.wanted.push_back(chunk);
    }
  }
  return graph;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Answers as workers would that need no time.
void measure(const std::string& name, const GraphSubmitted& graph, std::uint32_t workers) {
  Scheduler scheduler;
  ScheduleActions actions;
  Instant now = 0;
  for (std::uint32_t w = 0; w < workers; ++w)
    scheduler.handle(now, WorkerJoined{WorkerId(w), 2, std::uint64_t{1} << 40, {}, {}}, actions);
  const double tasks = static_cast<double>(graph.tasks.size());
  auto start = std::chrono::steady_clock::now();
  scheduler.handle(now, graph, actions);
  const double submit = seconds_since(start);
  std::deque<RunTask> open;
  bool has_ended = false;
  const auto collect = [&] {
    for (ScheduleAction& action : actions) {
      if (auto* const run = std::get_if<RunTask>(&action)) open.push_back(std::move(*run));
      has_ended = has_ended || std::holds_alternative<GraphEnded>(action);
    }
    actions.clear();
  };
  start = std::chrono::steady_clock::now();
  collect();
  while (!open.empty()) {
    const RunTask run = std::move(open.front());
    open.pop_front();
    now += 1000;
    scheduler.handle(now, TaskStarted{run.worker, run.task, run.attempt}, actions);
    scheduler.handle(now + 500, TaskFinished{run.worker, run.task, run.attempt, {}}, actions);
    collect();
  }
  const double spent = seconds_since(start);
  if (!has_ended) std::abort();
  fmt::print(
      "{{\"graph\": \"{}\", \"tasks\": {}, \"workers\": {}, \"submit_us\": {:.3f}, \"run_us\": "
      "{:.3f}}}\n",
      name, graph.tasks.size(), workers, submit / tasks * 1e6, spent / tasks * 1e6);
}

}  // namespace

int main(int count, char** arguments) {
  const auto most = static_cast<std::uint32_t>(count > 1 ? std::atoll(arguments[1]) : 1'000'000);
  for (const std::uint32_t workers : {10u, 1000u})
    for (std::uint32_t tasks = 1000; tasks <= most; tasks *= 10) {
      measure("pairs", pairs(tasks), workers);
      measure("tree", tree(tasks), workers);
      if (tasks <= 100'000) measure("shuffle", shuffle(tasks), workers);
    }
}
