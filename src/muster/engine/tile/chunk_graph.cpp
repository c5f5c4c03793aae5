#include "muster/engine/tile/chunk_graph.h"

#include <utility>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"

namespace muster::engine {

namespace {

/// About a millisecond's.
constexpr std::size_t kTasksPerLook = 1024;

Shape extents_of_chunk(const Splits& splits, std::size_t number) {
  const Shape grid = grid_of(splits);
  Shape position(grid.size());
  auto left = static_cast<Index>(number);
  for (std::size_t axis = grid.size(); axis-- > 0;) {
    position[axis] = left % grid[axis];
    left /= grid[axis];
  }
  return extents_at(splits, position);
}

}  // namespace

std::uint32_t ChunkGraph::append(Task task) {
  if (tasks_.size() >= most_)
    wrong_value(
        fmt::format("[{}] the graph needs more than {} tasks; make its chunks larger "
                    "(chunk_size)",
                    sources_.back().operator_name, most_));
  if (look_ && tasks_.size() % kTasksPerLook == 0) look_();
  tasks_.push_back(std::move(task));
  return static_cast<std::uint32_t>(tasks_.size() - 1);
}

void ChunkGraph::begin(std::string operator_name, Origin origin) {
  sources_.push_back({std::move(operator_name), std::move(origin)});
}

std::uint32_t ChunkGraph::add(const KernelRow& kernel, Attributes attributes,
                              std::vector<ChunkRef> inputs, std::vector<Meta> outputs) {
  for (const ChunkRef input : inputs) ++tasks_[input.task].readers[input.output];
  Task task;
  task.kernel = &kernel;
  task.attributes = std::move(attributes);
  task.inputs = std::move(inputs);
  task.outputs = std::move(outputs);
  task.source = static_cast<std::uint32_t>(sources_.size() - 1);
  task.results.resize(task.outputs.size());
  task.readers.resize(task.outputs.size());
  return append(std::move(task));
}

ChunkRef ChunkGraph::add_ready(Array array) {
  Task task;
  task.outputs = {{array.dtype(), array.shape()}};
  task.source = static_cast<std::uint32_t>(sources_.size() - 1);
  task.done = true;
  task.results = {std::move(array)};
  task.readers = {0};
  return {append(std::move(task)), 0};
}

ChunkRef ChunkGraph::add_stored(std::shared_ptr<const Stored> stored, std::size_t number) {
  Array here = stored->chunk_here(number);
  if (here) return add_ready(std::move(here));
  Task task;
  task.outputs = {{stored->dtype(), extents_of_chunk(stored->splits(), number)}};
  task.source = static_cast<std::uint32_t>(sources_.size() - 1);
  task.stored = std::move(stored);
  task.stored_number = number;
  task.done = true;
  task.results.resize(1);
  task.readers = {0};
  return {append(std::move(task)), 0};
}

void ChunkGraph::unpin(ChunkRef chunk) {
  Task& task = tasks_[chunk.task];
  MUSTER_ASSERT(task.readers[chunk.output] > 0, "only a pinned chunk is unpinned");
  if (--task.readers[chunk.output] == 0) task.results[chunk.output] = {};
}

}  // namespace muster::engine
