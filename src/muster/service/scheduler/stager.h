#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/engine/schedule/event.h"
#include "muster/engine/tile/chunk_graph.h"

namespace muster::service {

/// A task as the service keeps it, beside what the engine's scheduler knows.
struct StagedTask {
  std::uint32_t body = 0;          ///< index into Stage::bodies
  std::uint32_t first_output = 0;  ///< chunk number
  std::uint32_t step = 0;          ///< of the plan
  bool learns = false;             ///< sizes of its outputs are not known yet
};

/// What one stage of an execution adds to its session.
struct Stage {
  std::vector<std::string> operator_names;
  std::vector<engine::TaskSpec> tasks;
  std::vector<StagedTask> staged;  ///< one for each task
  std::vector<Buffer> bodies;      ///< encoded TaskBody; several tasks may share one
  std::vector<std::uint32_t> wanted;
};

/// Turns a ChunkGraph, which grows while a plan is tiled in stages, into tasks of a session. Knows
/// no thread and no socket. Not thread-safe.
///
/// A chunk that a stage computes and that the tiler may still read is wanted, so that it is not
/// computed twice; when the last stage is submitted, `wanted_so_far()` says which were wanted only
/// for that.
class Stager {
 public:
  /// `graph` outlives this.
  explicit Stager(engine::ChunkGraph& graph) : graph_(graph) {}

  /// The tasks that were added since the last call, numbered from `next_chunk` on, and what is to
  /// be computed so that `awaited` is there. Throws ArrayError (value) when their bodies take more
  /// than `most_bytes`, and what `look` throws, which is called every now and then.
  [[nodiscard]] Stage next(std::span<const engine::ChunkRef> awaited, std::uint32_t next_chunk,
                           std::size_t most_bytes, const std::function<void()>& look = {});

  /// What the last stage computed is there: `shape_of` gives the sizes that became known, by chunk
  /// number.
  void finish(const std::function<engine::Shape(std::uint32_t chunk)>& shape_of);

  /// No stage follows and no number is asked for: the tasks of the graph go.
  void forget_tasks();

  /// The number of a chunk that was submitted.
  [[nodiscard]] std::uint32_t number(engine::ChunkRef chunk) const;
  /// All chunks that stages wanted, sorted.
  [[nodiscard]] std::vector<std::uint32_t> wanted_so_far() const;

 private:
  void add(std::uint32_t task, std::uint32_t next_chunk);
  std::uint32_t body_of(engine::Task& task);
  std::uint32_t operator_of(const engine::Task& task);
  /// About so many, if it has not run.
  [[nodiscard]] std::uint64_t bytes_of(engine::ChunkRef chunk) const;
  [[nodiscard]] std::vector<std::uint64_t> estimate(const engine::Task& task) const;
  void want(std::span<const engine::ChunkRef> awaited);

  engine::ChunkGraph& graph_;
  std::vector<std::uint32_t> first_chunk_;  ///< by task of the graph
  std::vector<std::uint64_t> bytes_;        ///< by task of the graph: of all outputs together
  std::vector<std::uint32_t> running_;      ///< tasks of the graph that the last stage computes
  std::vector<std::uint32_t> wanted_;       ///< by all stages
  Stage stage_;
  std::size_t body_bytes_ = 0;
  std::uint32_t chunks_ = 0;  ///< of the stage
  /// By the graph's source: index into operator_names of the stage, and whether it has effects.
  struct Operator {
    std::uint32_t name = 0;
    bool effects = false;
  };
  std::unordered_map<std::uint32_t, Operator> operators_;
  engine::Task* last_ = nullptr;  ///< the task that the last body was made for; this stage's
};

}  // namespace muster::service
