#pragma once

#include <cstdint>
#include <vector>

#include "muster/base/random.h"
#include "muster/engine/schedule/event.h"

namespace muster::sim {

/// A task with what the simulation knows of it.
struct SimTask {
  engine::TaskSpec spec;
  std::uint32_t first_chunk = 0;
};

/// A session's tasks and the right value of each chunk.
struct SimSession {
  std::vector<SimTask> tasks;
  std::vector<std::uint64_t> values;
  std::vector<std::uint64_t> bytes;  ///< what the chunk will really take
  std::vector<std::uint64_t> known;  ///< what the scheduler believes: an estimate, then `bytes`
};

[[nodiscard]] std::uint64_t mix(std::uint64_t a, std::uint64_t b);
/// The value of a task's output, from the values of its inputs.
[[nodiscard]] std::uint64_t value_of(std::uint32_t task, std::uint32_t output,
                                     const std::vector<std::uint64_t>& inputs);

/// Appends `count` tasks to the session: chains, trees and shuffles, which read earlier chunks
/// among `readable` and each other. Wants the chunks that nobody reads and a few others.
[[nodiscard]] engine::GraphSubmitted random_graph(Random& random, SimSession& session, int count,
                                                  std::vector<std::uint32_t> readable);

}  // namespace muster::sim
