#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "muster/base/result.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/schedule/event.h"
#include "muster/engine/storage/chunk_store.h"
#include "muster/engine/value/array.h"
#include "muster/service/protocol/orders.h"
#include "muster/service/worker/admission.h"
#include "muster/service/worker/counters.h"
#include "muster/service/worker/worker_python.h"

namespace muster::service {

/// How a task ended.
struct TaskResult {
  enum class Kind : std::uint8_t { finished, failed, dropped };
  Kind kind = Kind::dropped;
  std::vector<std::uint64_t> output_bytes;
  std::vector<engine::Shape> shapes;
  engine::TaskFault fault = engine::TaskFault::error;
  std::string message;
  std::vector<std::uint32_t> missing;  ///< inputs that were not here
};

/// What a task needs of its worker. All of it outlives the tasks.
struct ExecutionNeeds {
  std::shared_ptr<engine::ChunkStore> store;
  std::shared_ptr<engine::Memory> memory;  ///< with ArenaBlocks, results need not be copied
  WorkerPython python;
  WorkerCounters& counters;
};

/// Runs tasks whose inputs are in the store: kernels read them where they are, and what they make
/// becomes chunks. Tasks whose inputs and outputs do not fit into the store together run one after
/// the other. Thread-safe.
class TaskExecution {
 public:
  explicit TaskExecution(ExecutionNeeds needs);

  /// `cancelled` may be set at any time: then no chunks are made.
  [[nodiscard]] TaskResult run(const RunOrder& order, const std::atomic<bool>& cancelled);
  /// Keeps the inputs of a task that will be run in memory, as far as others can leave instead.
  [[nodiscard]] engine::ExpectedChunks expect(const RunOrder& order) const;
  /// Ends the Python function that a thread runs, if it runs one.
  void interrupt(std::thread::id thread) const;
  /// Tasks that wait for memory are dropped, Python functions ended.
  void stop();
  [[nodiscard]] std::size_t waiting() const { return admission_.waiting(); }
  [[nodiscard]] PythonPoolStats python() const {
    return needs_.python.stats ? needs_.python.stats() : PythonPoolStats{};
  }

 private:
  /// One task under way; see task_execution.cpp.
  class Attempt;

  ExecutionNeeds needs_;
  Admission admission_;
};

}  // namespace muster::service
