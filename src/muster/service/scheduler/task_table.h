#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/engine/schedule/ids.h"
#include "muster/engine/schedule/paged.h"
#include "muster/engine/schedule/scheduler.h"
#include "muster/engine/value/shape.h"
#include "muster/service/scheduler/records.h"

namespace muster::service {

/// What the tasks of a session do, for as long as they may have to run again. Not thread-safe.
class TaskTable {
 public:
  struct Entry {
    Buffer body;
    std::uint32_t first_output = 0;
    std::uint32_t step = 0;
    bool learns = false;
    bool forgotten = false;
  };

  /// Those of a stage come next.
  void add(const StageSubmitted& stage);
  /// Null for one that is forgotten.
  [[nodiscard]] const Entry* find(std::uint32_t task) const;
  [[nodiscard]] std::uint32_t size() const { return entries_.size(); }
  /// Those that are not forgotten.
  [[nodiscard]] std::uint32_t live() const { return entries_.live(); }

  void learn(std::uint32_t task, std::vector<engine::Shape> shapes) {
    shapes_[task] = std::move(shapes);
  }
  /// Null where nothing was learnt.
  [[nodiscard]] const std::vector<engine::Shape>* shapes(std::uint32_t task) const;

  /// Everything, to begin a journal with.
  void save(engine::SessionId session, std::vector<ServiceRecord>& into) const;
  void load(const TasksSaved& saved);

  /// Forgets what the scheduler has forgotten.
  void sweep(engine::SessionId session, const engine::Scheduler& scheduler);

 private:
  engine::Paged<Entry> entries_;
  std::unordered_map<std::uint32_t, std::vector<engine::Shape>> shapes_;
};

/// In StageSubmitted::step: the sizes of the task's outputs are unknown.
inline constexpr std::uint32_t kLearns = 0x80000000u;

}  // namespace muster::service
