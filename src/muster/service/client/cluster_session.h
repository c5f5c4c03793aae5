#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/engine/execute/run_control.h"
#include "muster/engine/graph/tensor.h"
#include "muster/engine/session/options.h"
#include "muster/engine/session/view.h"

namespace muster::service {

struct ClusterOptions {
  /// Shown to the web role. Empty: MUSTER_TOKEN, that of this user's web role on this host, or the
  /// one that follows from MUSTER_SECRET.
  std::string token{};
  std::string tls_ca{};  ///< a PEM file of those who may vouch for an https server
  /// How long the cluster may be away before a call fails.
  Duration timeout = std::chrono::seconds(60);
  /// How long it keeps the session and its results when this program is silent.
  Duration session_timeout = std::chrono::seconds(120);
  /// Chunks that go up or down at the same time.
  std::size_t connections = 4;
  std::string name{};  ///< in lists of sessions; empty: user, host and process
  engine::Options options{};
};

/// Computes tensors on a cluster. Results stay there, for as long as a tensor of this program
/// refers to them and the session is open; only what is fetched comes over. Thread-safe; several
/// executions may run at once. Throws ArrayError as engine::Session does, with the messages of the
/// cluster.
class ClusterSession {
 public:
  /// `url` is where a web role is: "http://host:port/prefix" or "https://…".
  [[nodiscard]] static Result<std::unique_ptr<ClusterSession>> open(const std::string& url,
                                                                    ClusterOptions options = {});
  ClusterSession(const ClusterSession&) = delete;
  ClusterSession& operator=(const ClusterSession&) = delete;
  ~ClusterSession();
  /// Gives back everything on the cluster. Idempotent.
  void close();

  /// Computes these on the cluster. What was computed before is not computed again; arrays and
  /// results that are only here are uploaded, once.
  void execute(const std::vector<engine::Tensor>& tensors);
  void execute(const engine::Tensor& tensor) { execute(std::vector<engine::Tensor>{tensor}); }
  void execute(const std::vector<engine::Tensor>& tensors, const engine::Options& options,
               engine::RunControl* control = nullptr);

  /// Called while a call waits, from its thread; what it throws ends the call.
  using Waiting = std::function<void()>;
  /// The items of a tensor, which is executed first if it was not.
  [[nodiscard]] engine::Array fetch(const engine::Tensor& tensor, const Waiting& waiting = {});
  /// As C++ values. Throws ArrayError (type) if the items are of another type.
  template <class T>
  [[nodiscard]] engine::View<T> fetch(const engine::Tensor& tensor) {
    return engine::View<T>(fetch_as(tensor, engine::kTypeOf<T>));
  }
  /// The items from `start` on, `extents` of them along each axis. Only the chunks that they are in
  /// come over. Throws ArrayError (index) where there are no such items.
  [[nodiscard]] engine::Array fetch_part(const engine::Tensor& tensor, const engine::Shape& start,
                                         const engine::Shape& extents, const Waiting& waiting = {});

  /// Workers, memory, sessions: what GET /api/cluster answers.
  [[nodiscard]] nlohmann::json cluster_info() const;
  [[nodiscard]] const std::string& url() const;

 private:
  class Impl;
  explicit ClusterSession(std::unique_ptr<Impl> impl);
  [[nodiscard]] engine::Array fetch_as(const engine::Tensor& tensor, engine::Type type);

  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::service
