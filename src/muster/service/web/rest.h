#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "muster/net/http/http_exchange.h"
#include "muster/service/web/chunk_transfers.h"
#include "muster/service/web/cluster_link.h"
#include "muster/service/web/event_hub.h"
#include "muster/service/web/routes.h"
#include "muster/service/web/session_ticket.h"

namespace muster::service {

struct RestOptions {
  std::string prefix;  ///< empty, or "/some/path" before every path
  std::string token;   ///< empty: anybody may do anything, and no session is trusted
  std::string ticket_key;
};

/// Answers requests by the table in routes.h. Thread-safe.
class Rest {
 public:
  /// `link` and `events` outlive it.
  Rest(RestOptions options, ClusterLink& link, EventHub& events);

  void handle(net::HttpExchange& exchange);
  /// What is asked of the web role itself: `logs` and `metrics`.
  [[nodiscard]] Answer asked(const Ask& ask) const;

 private:
  /// A request whose route is found and whose sender may ask it.
  struct Call {
    net::HttpExchange& exchange;
    const RouteMatch& match;
    engine::SessionId session{};
    bool owner = false;  ///< it showed the session's ticket
    [[nodiscard]] const std::string& parameter(std::string_view name) const {
      return match.parameters.find(name)->second;
    }
  };

  [[nodiscard]] bool shows_token(const net::HttpRequest& request) const;
  /// An answer with another status than 200 where the sender may not.
  [[nodiscard]] Answer admit(const net::HttpRequest& request, Call& call) const;
  void dispatch(const Call& call);

  void index(const Call& call) const;
  void metrics(const Call& call) const;
  void open_session(const Call& call);
  void submit(const Call& call);
  void declare_upload(const Call& call);
  void take_chunk(const Call& call);
  void chunk(const Call& call);
  void events(const Call& call);
  [[nodiscard]] Answer health() const;
  [[nodiscard]] Answer worker_count(const Call& call) const;
  [[nodiscard]] Answer cluster() const;
  [[nodiscard]] Answer workers() const;
  [[nodiscard]] Answer list_sessions() const;
  [[nodiscard]] Answer close_session(const Call& call);
  [[nodiscard]] Answer progress(const Call& call) const;
  [[nodiscard]] Answer tasks(const Call& call) const;
  [[nodiscard]] Answer tensor(const Call& call) const;
  [[nodiscard]] Answer release(const Call& call);
  [[nodiscard]] Answer logs(const Call& call) const;
  /// A verb that takes a session and an execution, and its arguments.
  [[nodiscard]] static Result<nlohmann::json> execution_arguments(const Call& call);
  [[nodiscard]] Answer execution_verb(const Call& call, std::string verb) const;
  [[nodiscard]] std::string metrics_text() const;
  /// The role that `?role=` or `?worker=` names; fails where there is none.
  [[nodiscard]] Result<std::string> named_role(const Call& call, std::string_view fallback) const;

  RestOptions options_;
  ClusterLink& link_;  ///< see the constructor
  EventHub& events_;   ///< likewise
  ChunkTransfers transfers_;
  SessionTickets tickets_;
  TimePoint started_;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;  ///< for want of a token
};

}  // namespace muster::service
