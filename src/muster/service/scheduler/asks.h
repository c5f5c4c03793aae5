#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "muster/service/log_ring.h"
#include "muster/service/protocol/ask.h"
#include "muster/service/scheduler/core.h"
#include "muster/service/scheduler/sessions.h"

namespace muster::service {

/// Answers the verbs of README.md. Thread-safe.
class Asks {
 public:
  /// All outlive this.
  Asks(Core& core, Sessions& sessions, LogRing& logs)
      : core_(core), sessions_(sessions), logs_(logs) {}

  /// Nothing when the question was kept and will be answered later. Does not throw.
  [[nodiscard]] std::optional<Answer> answer(const Ask& ask, const comm::Message& question);

 private:
  using Verb = std::optional<Answer> (Asks::*)(const Ask& ask, const comm::Message& question);
  [[nodiscard]] static Verb verb(std::string_view name);

  std::optional<Answer> open(const Ask& ask, const comm::Message& question);
  std::optional<Answer> alive(const Ask& ask, const comm::Message& question);
  std::optional<Answer> close(const Ask& ask, const comm::Message& question);
  std::optional<Answer> submit(const Ask& ask, const comm::Message& question);
  std::optional<Answer> progress(const Ask& ask, const comm::Message& question);
  std::optional<Answer> cancel(const Ask& ask, const comm::Message& question);
  std::optional<Answer> tensor(const Ask& ask, const comm::Message& question);
  std::optional<Answer> upload(const Ask& ask, const comm::Message& question);
  std::optional<Answer> release(const Ask& ask, const comm::Message& question);

  // asks_status.cpp
  std::optional<Answer> cluster(const Ask& ask, const comm::Message& question);
  std::optional<Answer> sessions(const Ask& ask, const comm::Message& question);
  std::optional<Answer> tasks(const Ask& ask, const comm::Message& question);
  std::optional<Answer> graph(const Ask& ask, const comm::Message& question);
  std::optional<Answer> logs(const Ask& ask, const comm::Message& question);
  std::optional<Answer> metrics(const Ask& ask, const comm::Message& question);

  // Throw Refusal.
  [[nodiscard]] std::shared_ptr<Session> session_of(const Ask& ask);
  [[nodiscard]] std::shared_ptr<Execution> execution_of(const std::shared_ptr<Session>& session,
                                                        const Ask& ask);
  [[nodiscard]] nlohmann::json chunks_of(engine::SessionId session,
                                         const ClusterStored& tensor) const;

  Core& core_;
  Sessions& sessions_;
  LogRing& logs_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

/// Prometheus text.
[[nodiscard]] std::string metrics_text(const Core& core, const Sessions& sessions);

}  // namespace muster::service
