// What a push costs while many events are registered and many messages wait.

#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "muster/comm/event/matcher.h"

namespace muster::comm {
namespace {

std::vector<std::string> texts(const char* prefix, std::int64_t count) {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(fmt::format("{}{}", prefix, i));
  return out;
}

/// `events` events, each for a tag of its own, and `waiting` messages spread over them.
struct Load {
  Load(std::int64_t events, std::int64_t waiting) : tags(texts("tag_", events)) {
    for (const auto& tag : tags)
      matcher.add(event::all_of(fmt::format("worker:{}:2", tag), fmt::format("learner:{}:1", tag)));
    for (std::int64_t i = 0; i < waiting; ++i)
      push("worker_1", "worker", static_cast<std::size_t>(i) % tags.size());
  }
  void push(const char* source, const char* type, std::size_t tag) {
    benchmark::DoNotOptimize(matcher.push(++token, source, type, tags[tag]));
  }

  std::vector<std::string> tags;
  EventMatcher matcher{[](std::string_view) { return 8; }, {.max_waiting = 1u << 30}};
  std::uint64_t token = 0;
};

/// Three messages, of which the last satisfies an event: the number of waiting messages stays the
/// same.
void push_and_fire(benchmark::State& state) {
  Load load(state.range(0), state.range(1));
  std::size_t tag = 0;
  for (auto _ : state) {
    tag = (tag + 7) % load.tags.size();
    load.push("worker_1", "worker", tag);
    load.push("worker_2", "worker", tag);
    load.push("learner", "learner", tag);
    benchmark::DoNotOptimize(load.matcher.take_fired());
  }
  state.SetItemsProcessed(state.iterations() * 3);
}

/// A message that no event asks for.
void push_unmatched(benchmark::State& state) {
  Load load(state.range(0), state.range(1));
  for (auto _ : state)
    benchmark::DoNotOptimize(load.matcher.push(0, "worker_1", "worker", "other"));
  state.SetItemsProcessed(state.iterations());
}

/// A message that every event takes and that satisfies every event.
void push_to_all(benchmark::State& state) {
  Load load(state.range(0), state.range(1));
  for (std::int64_t i = 0; i < state.range(0); ++i) load.matcher.add("*:all:1");
  for (auto _ : state) {
    benchmark::DoNotOptimize(load.matcher.push(0, "worker_1", "worker", "all"));
    benchmark::DoNotOptimize(load.matcher.take_fired());
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(push_and_fire)
    ->ArgNames({"events", "waiting"})
    ->Args({1, 0})
    ->Args({1000, 0})
    ->Args({1000, 100'000})
    ->Args({1000, 1'000'000});
BENCHMARK(push_unmatched)->ArgNames({"events", "waiting"})->Args({1000, 100'000});
BENCHMARK(push_to_all)->ArgNames({"events", "waiting"})->Args({1000, 100'000});

}  // namespace
}  // namespace muster::comm

BENCHMARK_MAIN();
