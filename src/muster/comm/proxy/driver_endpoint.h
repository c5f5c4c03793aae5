#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/proxy/proxy.h"

namespace muster::comm {

struct EndpointOptions {
  std::string type;
  std::string driver = "zmq";
  std::map<std::string, std::string> driver_options;
  /// How long a send waits for room.
  Duration send_timeout = std::chrono::seconds(60);
  std::function<bool()> interrupted;  ///< as in ProxyOptions
  Security security;
};

/// One driver on its own, for programs that know the addresses of their peers and need no group:
/// what is connected is what was told. Peers are called by the names under which they were
/// connected; one that was not connected here but sends, by its own. Thread-safe.
class DriverEndpoint {
 public:
  [[nodiscard]] static Result<DriverEndpoint> open(EndpointOptions options);

  DriverEndpoint(DriverEndpoint&&) noexcept;
  DriverEndpoint& operator=(DriverEndpoint&&) = delete;
  ~DriverEndpoint();

  /// What `connect` of another endpoint takes.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] const Name& name() const;

  /// `Errc::socket_type` for an address that no endpoint made.
  Result<void> connect(const Name& peer, std::string_view address);
  /// Sending to the peer is `Errc::pending` from now on. `Errc::peer_disconnection` for a stranger.
  Result<void> disconnect(const Name& peer);

  Result<void> send(Message message);
  /// To all connected peers of a type; to none is fine.
  Result<void> broadcast(std::string_view type, const Message& message);
  [[nodiscard]] Result<std::optional<Message>> receive_once(Timeout timeout = {});

  /// Idempotent; returns within the linger time of a proxy.
  void close();

 private:
  class Peers;
  DriverEndpoint(std::shared_ptr<Peers> peers, Proxy proxy);

  std::shared_ptr<Peers> peers_;  // the proxy looks for its peers here
  Proxy proxy_;
};

}  // namespace muster::comm
