#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "muster/base/strong_id.h"
#include "muster/engine/graph/tensor.h"
#include "muster/engine/kernels/kernel.h"

namespace muster::engine {

/// One output of one task of a ChunkGraph.
struct ChunkRef {
  std::uint32_t task = 0;
  std::uint32_t output = 0;
  friend bool operator==(const ChunkRef&, const ChunkRef&) = default;
};

/// What a task was made for; shared by all tasks of one operator.
struct TaskSource {
  std::string operator_name;
  Origin origin;
};

/// A kernel to be run once on certain chunks.
struct Task {
  const KernelRow* kernel = nullptr;
  Attributes attributes;
  std::vector<ChunkRef> inputs;
  std::vector<Meta> outputs;  ///< shapes are filled in when it has run
  std::uint32_t source = 0;   ///< index into ChunkGraph::sources

  std::shared_ptr<const Stored> stored;  ///< where a chunk that was there already comes from
  std::size_t stored_number = 0;         ///< which of its chunks

  // The executor's part.
  bool done = false;
  std::vector<Array> results;          ///< empty handles once nobody needs them
  std::vector<std::uint32_t> readers;  ///< per output: tasks that have yet to read it, and pins
};

/// Tasks in an order in which every task comes after those it reads. Grows while operators are
/// tiled and stays while stages run. Not thread-safe.
class ChunkGraph {
 public:
  /// Adding more tasks than this throws ArrayError (value): against graphs that somebody sent.
  void limit_tasks(std::size_t most) { most_ = most; }
  /// Called every now and then while tasks are added; it may throw to end that.
  void watch(std::function<void()> look) { look_ = std::move(look); }
  /// Says for which operator the tasks that follow are made.
  void begin(std::string operator_name, Origin origin);
  /// Adds a task; every output starts without readers.
  std::uint32_t add(const KernelRow& kernel, Attributes attributes, std::vector<ChunkRef> inputs,
                    std::vector<Meta> outputs);
  /// A chunk that is there already.
  ChunkRef add_ready(Array array);
  /// A chunk of a computed tensor, wherever that is.
  ChunkRef add_stored(std::shared_ptr<const Stored> stored, std::size_t number);

  [[nodiscard]] std::vector<Task>& tasks() { return tasks_; }
  [[nodiscard]] const std::vector<Task>& tasks() const { return tasks_; }
  [[nodiscard]] const TaskSource& source(const Task& task) const { return sources_[task.source]; }
  /// Of the operator that is tiled now.
  [[nodiscard]] const TaskSource& last_source() const { return sources_.back(); }
  [[nodiscard]] const Meta& meta(ChunkRef chunk) const {
    return tasks_[chunk.task].outputs[chunk.output];
  }

  /// A pinned chunk keeps its data after its last reader; unpinning may drop it.
  void pin(ChunkRef chunk) { ++tasks_[chunk.task].readers[chunk.output]; }
  void unpin(ChunkRef chunk);

 private:
  std::uint32_t append(Task task);

  std::vector<Task> tasks_;
  std::vector<TaskSource> sources_;
  std::size_t most_ = 0xFFFFFFFFu;
  std::function<void()> look_;
};

}  // namespace muster::engine
