#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace muster::bench {

/// What is measured, the same for every system.
enum class Operation {
  barrier,
  broadcast,
  scatter,
  gather,
  reduce,
  allreduce,
  allgather,
  reduce_scatter,
  all_to_all
};

/// The buffers of one rank, in floats. `bytes` is the size of the larger one; a block is a part of
/// it for each rank.
struct Buffers {
  std::vector<float> ordinary;  ///< where the input lies, unless the system gave memory for it
  std::span<float> input;
  std::vector<float> output;
  std::size_t count = 0;  ///< of the whole
  std::size_t block = 0;
};

/// A library with collectives, as one rank sees it. The root is rank 0.
class System {
 public:
  virtual ~System() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// False: the system does not have it, or nobody asks.
  virtual bool run(Operation operation, Buffers& buffers) = 0;
  /// Memory for the input of the next calls, instead of that of the last ones; empty: any will do.
  virtual std::span<float> allocate(std::size_t /*items*/) { return {}; }
};

/// Serves the conductor (benchmarks/collectives/run): reads lines "operation bytes repetitions
/// calls" from `folder`/name.rank.in, and answers each in name.rank.out with the seconds that one
/// call took, for every repetition. Waits without using the processor. Returns at the line "quit".
int serve(System& system, const std::string& folder, const std::string& name);

}  // namespace muster::bench
