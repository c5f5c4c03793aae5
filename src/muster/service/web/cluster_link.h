#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/engine/schedule/ids.h"
#include "muster/service/protocol/ask.h"
#include "muster/service/role.h"

namespace muster::service {

/// The web role's place in the group: asks the other roles on behalf of clients. Its own thread
/// takes what comes unasked. Thread-safe; calls that wait end when it is stopped.
class ClusterLink {
 public:
  struct Listener {
    /// Lines of JSON: what happens in the cluster.
    std::function<void(std::string_view lines)> news;
    /// What others ask the web role itself.
    std::function<Answer(const Ask& ask)> asked;
  };

  /// Returns when the scheduler was met. `role` says where, `proxy` as whom.
  [[nodiscard]] static Result<std::unique_ptr<ClusterLink>> join(const RoleOptions& role,
                                                                 comm::ProxyOptions proxy,
                                                                 Listener listener);
  ClusterLink(const ClusterLink&) = delete;
  ClusterLink& operator=(const ClusterLink&) = delete;
  ~ClusterLink();
  void stop();

  /// Asks until it is answered: verbs may be asked twice. 503 when the role stayed away until the
  /// deadline, 504 when it did not answer.
  [[nodiscard]] Answer ask(std::string_view role, const Ask& ask, TimePoint deadline);
  [[nodiscard]] Answer ask_scheduler(const Ask& ask, TimePoint deadline);

  /// The answers of all workers that give one until then, by name.
  [[nodiscard]] std::map<std::string, Answer> ask_workers(const Ask& ask, TimePoint deadline);

  /// A chunk with its header; empty if the worker has it not. `Errc::unreachable` when it is gone.
  [[nodiscard]] Result<Buffer> get_chunk(std::string_view worker, engine::ChunkId chunk,
                                         TimePoint deadline);
  /// Gives a worker the body of a PutChunk (kPutTag) or of a TakeChunk (kTakeTag).
  [[nodiscard]] Result<Answer> give_chunk(std::string_view worker, std::string_view tag,
                                          const comm::Body& body, TimePoint deadline);
  /// Memory for such a body, shared with workers on this host.
  [[nodiscard]] Result<comm::WritableBuffer> allocate(std::size_t bytes);

  [[nodiscard]] std::vector<std::string> workers() const;
  [[nodiscard]] bool sees_scheduler() const;
  [[nodiscard]] bool stopping() const { return stopping_; }
  /// Sleeps until a peer comes or goes, for about 100 ms at most; less than that at the deadline.
  void wait_for_change(TimePoint deadline);

 private:
  ClusterLink(comm::Proxy proxy, Listener listener);
  [[nodiscard]] Result<comm::Message> send_once(std::string_view to, std::string_view tag,
                                                const comm::Body& body, TimePoint deadline);
  void listen();
  void take(const comm::Message& message);

  comm::Proxy proxy_;
  Listener listener_;
  std::atomic<bool> stopping_ = false;
  std::thread listening_;
};

}  // namespace muster::service
