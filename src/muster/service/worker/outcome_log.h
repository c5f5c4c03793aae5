#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "muster/service/protocol/reports.h"

namespace muster::service {

/// How a task ended here, and which chunks it left.
struct Outcome {
  Report report;
  std::uint32_t first_output = 0;
  std::uint32_t outputs = 0;  ///< none where it failed
};

/// The last tasks that ended on a worker. A scheduler that comes back may not have written down
/// what it was told last, so it is told again; outcomes count once there. Not thread-safe.
class OutcomeLog {
 public:
  /// More than a scheduler can have received and not yet written to its journal.
  static constexpr std::size_t kMost = 32'768;

  void add(Outcome outcome);
  /// To be told again: those that failed, and those whose chunks are all here still.
  [[nodiscard]] std::vector<Report> tell_again(
      const std::function<bool(engine::ChunkId)>& holds) const;
  /// The chunks that a task left; none if that was too long ago.
  [[nodiscard]] std::vector<engine::ChunkId> made_by(engine::TaskId task) const;
  [[nodiscard]] std::size_t size() const { return outcomes_.size(); }

 private:
  std::deque<Outcome> outcomes_;
};

}  // namespace muster::service
