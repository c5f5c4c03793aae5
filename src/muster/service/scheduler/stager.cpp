#include "muster/service/scheduler/stager.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"
#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/protocol/orders.h"
#include "muster/service/scheduler/cluster_stored.h"

namespace muster::service {
namespace {

using engine::ChunkRef;
using engine::Meta;
using engine::Task;

constexpr std::uint32_t kNone = 0xFFFFFFFFu;
// A kernel with so many results cuts its input for others (a shuffle); fewer are the parts of a
// decomposition.
constexpr std::size_t kScatters = 4;
/// About a millisecond's.
constexpr std::uint32_t kTasksPerLook = 1024;

bool knows_sizes(const Task& task) {
  return std::all_of(task.outputs.begin(), task.outputs.end(),
                     [](const Meta& output) { return engine::is_known(output.shape); });
}

bool is_literal(const Task& task) { return task.kernel == nullptr && !task.stored; }

/// Whether the same bytes say what both do.
bool same_body(const Task& a, const Task& b) {
  return a.kernel == b.kernel && a.kernel != nullptr && a.source == b.source &&
         &a.attributes.pairs() == &b.attributes.pairs() && a.outputs == b.outputs;
}

}  // namespace

Stage Stager::next(std::span<const ChunkRef> awaited, std::uint32_t next_chunk,
                   std::size_t most_bytes, const std::function<void()>& look) {
  stage_ = {};
  operators_.clear();
  last_ = nullptr;
  body_bytes_ = 0;
  chunks_ = 0;
  const auto tasks = static_cast<std::uint32_t>(graph_.tasks().size());
  for (auto task = static_cast<std::uint32_t>(first_chunk_.size()); task < tasks; ++task) {
    if (look && task % kTasksPerLook == 0) look();
    add(task, next_chunk);
    if (body_bytes_ > most_bytes)
      engine::wrong_value(
          fmt::format("the tasks of the graph take more than {} bytes: give large arrays to the "
                      "session first (mt.tensor(...).execute())",
                      most_bytes));
  }
  want(awaited);
  return std::exchange(stage_, {});
}

void Stager::add(std::uint32_t number, std::uint32_t next_chunk) {
  Task& task = graph_.tasks()[number];
  if (task.stored) {
    const auto* const stored = dynamic_cast<const ClusterStored*>(task.stored.get());
    MUSTER_ASSERT(stored != nullptr, "graphs of clients are read with tensors of the cluster only");
    first_chunk_.push_back(stored->chunks()[task.stored_number]);
    bytes_.push_back(estimate(task).front());
    return;
  }
  if (is_literal(task) && !task.results.front()) {
    // Made for nobody.
    first_chunk_.push_back(kNone);
    bytes_.push_back(0);
    return;
  }
  engine::TaskSpec spec;
  spec.inputs.reserve(task.inputs.size());
  for (const ChunkRef input : task.inputs) {
    spec.inputs.push_back(this->number(input));
    // Read, as far as the tiler's graph is concerned: what remains are pins.
    --graph_.tasks()[input.task].readers[input.output];
  }
  spec.output_bytes = estimate(task);
  spec.operator_name = operator_of(task);
  spec.scatter = task.outputs.size() >= kScatters;
  spec.repeatable = !operators_.at(task.source).effects;
  std::uint64_t total = 0;
  for (const std::uint64_t each : spec.output_bytes) total += each;
  bytes_.push_back(total);
  first_chunk_.push_back(next_chunk + chunks_);
  stage_.staged.push_back({body_of(task), next_chunk + chunks_, task.source, !knows_sizes(task)});
  chunks_ += static_cast<std::uint32_t>(task.outputs.size());
  stage_.tasks.push_back(std::move(spec));
}

std::uint32_t Stager::operator_of(const Task& task) {
  const auto found = operators_.find(task.source);
  if (found != operators_.end()) return found->second.name;
  const std::string& name = graph_.source(task).operator_name;
  const engine::OperatorRow* const row = engine::registry().find_operator(name);
  stage_.operator_names.push_back(name);
  const auto index = static_cast<std::uint32_t>(stage_.operator_names.size() - 1);
  operators_.emplace(task.source, Operator{index, row != nullptr && row->effects});
  return index;
}

void Stager::forget_tasks() {
  graph_.tasks() = {};
  first_chunk_ = {};
  bytes_ = {};
  last_ = nullptr;
}

/// The task's attributes are in its body then, and there for nobody else: of many tasks they are
/// most of the graph. Those of the last are kept to be compared.
std::uint32_t Stager::body_of(Task& task) {
  if (last_ != nullptr && same_body(*last_, task)) {
    task.attributes = {};
  } else {
    const engine::TaskSource& source = graph_.source(task);
    const bool literal = is_literal(task);
    TaskBody body{std::string(literal ? engine::literal_kernel().name : task.kernel->name),
                  source.operator_name, source.origin.text,
                  literal ? engine::Attributes{{"array", task.results.front()}} : task.attributes,
                  task.outputs};
    stage_.bodies.push_back(encode(body));
    body_bytes_ += stage_.bodies.back().size();
    if (last_ != nullptr) last_->attributes = {};
    last_ = &task;
  }
  return static_cast<std::uint32_t>(stage_.bodies.size() - 1);
}

std::uint64_t Stager::bytes_of(ChunkRef chunk) const {
  const Meta& meta = graph_.meta(chunk);
  const engine::Index items = engine::volume(meta.shape);
  if (items >= 0) return static_cast<std::uint64_t>(items) * engine::item_size(meta.dtype);
  return bytes_[chunk.task] / graph_.tasks()[chunk.task].outputs.size();
}

std::vector<std::uint64_t> Stager::estimate(const Task& task) const {
  std::uint64_t inputs = 0;
  for (const ChunkRef input : task.inputs) inputs += bytes_of(input);
  std::vector<std::uint64_t> bytes;
  bytes.reserve(task.outputs.size());
  for (const Meta& output : task.outputs)
    bytes.push_back(kChunkHeader + engine::result_bytes(task.kernel, output.dtype, output.shape,
                                                        inputs, task.outputs.size()));
  return bytes;
}

void Stager::want(std::span<const ChunkRef> awaited) {
  running_.clear();
  std::vector<bool> seen(graph_.tasks().size(), false);
  std::vector<std::uint32_t> stack;
  const auto visit = [&](std::uint32_t task) {
    if (seen[task] || graph_.tasks()[task].stored) return;
    seen[task] = true;
    // A constant is done for the tiler, but is a task like others here.
    if (graph_.tasks()[task].done && !is_literal(graph_.tasks()[task])) return;
    running_.push_back(task);
    stack.push_back(task);
  };
  for (const ChunkRef chunk : awaited) {
    stage_.wanted.push_back(number(chunk));
    visit(chunk.task);
  }
  while (!stack.empty()) {
    const std::uint32_t task = stack.back();
    stack.pop_back();
    for (const ChunkRef input : graph_.tasks()[task].inputs) visit(input.task);
  }
  for (const std::uint32_t task : running_) {
    const std::vector<std::uint32_t>& readers = graph_.tasks()[task].readers;
    for (std::uint32_t output = 0; output < readers.size(); ++output)
      if (readers[output] > 0) stage_.wanted.push_back(first_chunk_[task] + output);
  }
  std::sort(stage_.wanted.begin(), stage_.wanted.end());
  stage_.wanted.erase(std::unique(stage_.wanted.begin(), stage_.wanted.end()), stage_.wanted.end());
  wanted_.insert(wanted_.end(), stage_.wanted.begin(), stage_.wanted.end());
}

void Stager::finish(const std::function<engine::Shape(std::uint32_t chunk)>& shape_of) {
  for (const std::uint32_t number : running_) {
    Task& task = graph_.tasks()[number];
    if (!knows_sizes(task))
      for (std::uint32_t output = 0; output < task.outputs.size(); ++output)
        task.outputs[output].shape = shape_of(first_chunk_[number] + output);
    task.done = true;
  }
  running_.clear();
}

std::uint32_t Stager::number(ChunkRef chunk) const {
  MUSTER_ASSERT(first_chunk_[chunk.task] != kNone, "nobody reads a constant made for nobody");
  return first_chunk_[chunk.task] + chunk.output;
}

std::vector<std::uint32_t> Stager::wanted_so_far() const {
  std::vector<std::uint32_t> all = wanted_;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace muster::service
