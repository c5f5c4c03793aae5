#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "muster/base/clock.h"
#include "muster/runtime/fd.h"

namespace muster::test {

/// A TCP relay in front of a server on this host: what a line between two hosts may do to a
/// connection, on demand. Runs until it is destroyed. Thread-safe.
class Relay {
 public:
  /// Listens on a free port of 127.0.0.1 and passes everything on to `target`, another one.
  explicit Relay(std::uint16_t target);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// "tcp://127.0.0.1:4711"
  [[nodiscard]] std::string address() const;

  /// Breaks all connections; new ones go through.
  void cut();
  /// Breaks all connections, and new ones at once, until `resume`.
  void block();
  /// Keeps the connections and carries nothing until `resume`: what a dead host looks like.
  void freeze();
  /// Every byte arrives this much later, in both directions.
  void delay(Duration one_way);
  /// Ends `block` and `freeze`.
  void resume();

  [[nodiscard]] std::size_t connections() const;
  /// Bytes carried so far, in both directions.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Pipe;
  struct Connection;

  void run(const std::stop_token& stop);
  void accept_one();
  void wake() const;
  [[nodiscard]] Duration carry_all();

  std::uint16_t target_;
  std::uint16_t port_ = 0;
  FileDescriptor listener_;
  FileDescriptor wake_;
  mutable std::mutex mutex_;
  std::list<Connection> connections_;
  bool blocked_ = false;
  bool frozen_ = false;
  Duration delay_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::jthread thread_;
};

/// The port in "tcp://127.0.0.1:4711".
[[nodiscard]] std::uint16_t port_of(const std::string& address);

}  // namespace muster::test
