#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "muster/base/result.h"
#include "muster/service/role.h"

namespace muster::service {

/// The web role: REST and WebSocket for clients, a member of the group for the others. Keeps
/// nothing that clients would miss: one that is started again at the same address goes on for them.
/// Owns its threads. Thread-safe.
class WebService {
 public:
  /// Returns when the scheduler was met and clients may come. `Errc::refused` where it would listen
  /// on the network without a token.
  [[nodiscard]] static Result<std::unique_ptr<WebService>> start(const WebOptions& options);
  WebService(const WebService&) = delete;
  WebService& operator=(const WebService&) = delete;
  ~WebService();

  /// Ends all requests. Idempotent, bounded.
  void stop();
  [[nodiscard]] std::uint16_t port() const;
  /// What clients give to `new_session`.
  [[nodiscard]] std::string url() const;
  /// The file in which programs of this user on this host find the token; empty if there is none.
  [[nodiscard]] const std::string& token_file() const;

 private:
  class Impl;
  explicit WebService(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::service
