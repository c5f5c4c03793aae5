#pragma once

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "muster/engine/execute/run_control.h"
#include "muster/engine/graph/tensor.h"
#include "muster/engine/optimise/plan.h"
#include "muster/engine/session/options.h"
#include "muster/service/client/connection.h"
#include "muster/service/client/uploads.h"

namespace muster::service {

/// One execution on a cluster: uploads what is only here, submits the graph, follows it to its end
/// and keeps the results with the tensors. `run` is for one thread; `cancel` for any.
class RemoteExecution {
 public:
  /// All of them outlive it. `tensors` are not executed yet.
  RemoteExecution(const std::shared_ptr<Connection>& connection, Uploads& uploads,
                  std::vector<engine::Tensor> tensors, const engine::Options& options,
                  engine::RunControl& control);

  /// Throws ArrayError: what the cluster says, or `Wrong::cancelled` once stop was requested.
  void run(const std::stop_token& stop);
  /// Tells the cluster to give up, so that `run` need not wait for the next answer.
  void cancel();

 private:
  /// The bytes of the graph; remembers what of it was uploaded.
  [[nodiscard]] std::vector<std::byte> write(const std::stop_token& stop);
  [[nodiscard]] std::vector<std::string> keys_of(const engine::PlanStep& step,
                                                 const std::stop_token& stop);
  void submit(const std::vector<std::byte>& graph, const std::stop_token& stop);
  [[nodiscard]] nlohmann::json follow(const std::stop_token& stop);
  void keep_results(const std::stop_token& stop);
  void give_up() noexcept;

  std::shared_ptr<Connection> connection_;
  Uploads& uploads_;  ///< see the constructor
  std::vector<engine::Tensor> tensors_;
  const engine::Options& options_;                           ///< likewise
  engine::RunControl& control_;                              ///< likewise
  std::size_t inline_most_ = 0;                              ///< larger constants are uploaded
  std::vector<std::string> keys_;                            ///< of the results
  std::vector<std::string> uploaded_;                        ///< keys
  std::vector<std::shared_ptr<const engine::Stored>> used_;  ///< not to be released meanwhile
  std::mutex mutex_;
  std::string name_;  ///< what the cluster knows it by, once submitted; `mutex_` must be held
};

}  // namespace muster::service
