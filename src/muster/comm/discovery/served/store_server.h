#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "muster/base/result.h"
#include "muster/comm/discovery/served/served_table.h"
#include "muster/comm/discovery/store.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/driver/zmq/curve.h"
#include "muster/comm/driver/zmq/socket.h"
#include "muster/runtime/interrupt.h"

namespace muster::comm {

struct StoreServerOptions {
  /// An IP address, the name of a network interface, or "0.0.0.0" for all.
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: any free one
  Security security{};
  /// One more must wait until others end. 0: half of the descriptors that this process may have.
  /// Each member has two. Not enforced where anybody may come (`insecure`).
  std::size_t most_connections = 0;
  served::TableLimits limits{};
};

/// A discovery store without a server of its own: whoever is there longest (the scheduler of a
/// cluster) serves the table, the others open "tcp://HOST:PORT". The table lives in memory: after a
/// restart it is empty until the members renew, and they do so by themselves.
///
/// Without a secret only loopback may be bound, and only processes of the same user are let in;
/// with one, connections are authenticated and encrypted by it (as in driver/zmq). Thread-safe.
class StoreServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<StoreServer>> start(
      const StoreServerOptions& options);
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;
  ~StoreServer() { stop(); }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// "tcp://10.0.0.5:7103": what others on this network open.
  [[nodiscard]] const std::string& address() const { return address_; }

  /// The same table without a connection, for a proxy of this process. May outlive the server.
  [[nodiscard]] std::shared_ptr<Store> local_store() const;

  /// Requests that could not be read.
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  /// Connections that failed to prove themselves.
  [[nodiscard]] std::uint64_t strangers() const { return strangers_; }

  /// Open connections, also those that have not proven themselves yet.
  [[nodiscard]] std::size_t connections() const { return connections_; }

  /// Connections end, nobody is told. Idempotent.
  void stop();

 private:
  struct Shared;

  StoreServer(std::shared_ptr<Shared> shared, const StoreServerOptions& options);

  Result<void> listen(const StoreServerOptions& options);
  void run(const std::stop_token& stop);
  void serve_requests();
  void count_connections();
  void abandon();

  const std::uint64_t made_in_;  // fork generation
  const std::size_t most_connections_;
  std::shared_ptr<Shared> shared_;
  ZmqContext context_;  // first, so that it ends after its sockets
  std::optional<ZapHandler> zap_;
  ZmqSocket router_;
  ZmqSocket monitor_;
  served::ServedTable table_;
  std::uint16_t port_ = 0;
  std::string host_;
  std::string address_;
  std::atomic<std::uint64_t> malformed_{0};
  std::atomic<std::uint64_t> strangers_{0};
  std::uint64_t told_refused_ = 0;  // in the log; only from the thread
  std::set<std::int32_t> open_;     // descriptors of the connections; only from the thread
  std::atomic<std::size_t> connections_{0};
  std::jthread thread_;
};

}  // namespace muster::comm
