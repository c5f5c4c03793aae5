#include "loop.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <sched.h>
#include <sstream>

namespace muster::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kNames[] = {"barrier",   "broadcast", "scatter",        "gather",    "reduce",
                                  "allreduce", "allgather", "reduce_scatter", "all_to_all"};

std::optional<Operation> operation_of(const std::string& name) {
  for (int i = 0; i < 9; ++i)
    if (name == kNames[i]) return static_cast<Operation>(i);
  return std::nullopt;
}

/// Both buffers written, so that no page is touched for the first time while time is taken.
Buffers buffers_of(std::size_t bytes, System& system) {
  Buffers buffers;
  const auto n = static_cast<std::size_t>(system.size());
  buffers.block = std::max<std::size_t>(1, bytes / sizeof(float) / n);
  buffers.count = std::max<std::size_t>(1, bytes / sizeof(float));
  const std::size_t room = std::max(buffers.count, buffers.block * n);
  buffers.input = system.allocate(room);
  if (buffers.input.empty()) {
    buffers.ordinary.resize(room);
    buffers.input = buffers.ordinary;
  }
  std::fill(buffers.input.begin(), buffers.input.end(), 1.0F);
  buffers.output.assign(room, -1);
  return buffers;
}

/// All inputs are ones, so the first item of the result is the number of ranks or one.
bool right(Operation operation, const Buffers& buffers, int rank, int size) {
  const auto sum = static_cast<float>(size);
  switch (operation) {
    case Operation::barrier: return true;
    case Operation::reduce: return rank != 0 || buffers.output.at(buffers.count - 1) == sum;
    case Operation::allreduce: return buffers.output.at(buffers.count - 1) == sum;
    case Operation::reduce_scatter: return buffers.output.at(buffers.block - 1) == sum;
    case Operation::gather: return rank != 0 || buffers.output.at(buffers.block) == 1;
    case Operation::scatter: return buffers.output.at(buffers.block - 1) == 1;
    case Operation::broadcast: return rank == 0 || buffers.output.at(buffers.count - 1) == 1;
    default: return buffers.output.at(buffers.block) == 1;
  }
}

/// Nothing when a call failed.
std::optional<double> seconds_per_call(System& system, Operation operation, Buffers& buffers,
                                       int calls) {
  Buffers none;
  system.run(Operation::barrier, none);
  bool well = true;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < calls && well; ++i) well = system.run(operation, buffers);
  if (!well) return std::nullopt;
  return std::chrono::duration<double>(Clock::now() - begin).count() / calls;
}

std::string answer(System& system, const std::string& line, Buffers& buffers, std::string& shape) {
  std::istringstream words(line);
  std::string name;
  std::size_t bytes = 0;
  int repetitions = 0;
  int calls = 0;
  words >> name >> bytes >> repetitions >> calls;
  const auto operation = operation_of(name);
  if (!operation || !words) return "wrong command";
  if (shape != name + std::to_string(bytes)) {
    shape = name + std::to_string(bytes);
    buffers = buffers_of(bytes, system);
    // The first call sets things up, and shows whether the result is right.
    if (!system.run(*operation, buffers)) return "missing";
    if (!right(*operation, buffers, system.rank(), system.size())) return "wrong result";
  }
  std::ostringstream times;
  for (int i = 0; i < repetitions; ++i) {
    const auto seconds = seconds_per_call(system, *operation, buffers, calls);
    if (!seconds) return "a call failed";
    times << *seconds << ' ';
  }
  return times.str();
}

}  // namespace

int serve(System& system, const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name + "." + std::to_string(system.rank());
  std::ifstream commands(path + ".in");
  std::ofstream answers(path + ".out");
  Buffers buffers;
  std::string shape;
  std::string line;
  while (std::getline(commands, line) && line != "quit")
    answers << answer(system, line, buffers, shape) << std::endl;
  return 0;
}

}  // namespace muster::bench
