#pragma once

#include <memory>
#include <span>
#include <vector>

#include "muster/engine/optimise/plan.h"
#include "muster/engine/session/options.h"
#include "muster/engine/tile/tiler.h"
#include "muster/service/scheduler/sessions.h"
#include "muster/service/scheduler/stager.h"

namespace muster::service {

/// Reads a client's graph, plans, optimises and tiles it, and submits its tasks, in stages where
/// sizes must be known. Runs in a thread of its own and ends when everything is submitted.
class ExecutionRun {
 public:
  ExecutionRun(Sessions& sessions, std::shared_ptr<Session> session,
               std::shared_ptr<Execution> execution)
      : sessions_(sessions), session_(std::move(session)), execution_(std::move(execution)) {}

  /// Does not throw: failures end the execution.
  void operator()();

 private:
  void run();
  void fail(const std::string& kind, const std::string& text);
  [[nodiscard]] std::vector<engine::Tensor> read();
  [[nodiscard]] engine::Options options() const;
  void begin();
  void stage(Stager& stager, std::span<const engine::ChunkRef> wanted);
  void submit_last(Stager& stager, const std::vector<engine::Tensor>& tensors,
                   const std::vector<engine::Tiled>& results);
  void submit(Stage stage, bool last);
  [[nodiscard]] Stage next_stage(Stager& stager, std::span<const engine::ChunkRef> wanted);
  void check_open() const;
  void wait_for_workers() const;

  Sessions& sessions_;  ///< whose thread this runs in
  std::shared_ptr<Session> session_;
  std::shared_ptr<Execution> execution_;
  engine::GraphId graph_;
  bool begun_ = false;
  std::size_t made_ = 0;  ///< tasks, about
};

}  // namespace muster::service
