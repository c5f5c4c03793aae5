#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"

namespace muster::comm {

/// A libzmq context. Ends when all its sockets are closed and their linger times are over.
class ZmqContext {
 public:
  ZmqContext();
  ~ZmqContext() { terminate(); }
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;

  [[nodiscard]] void* get() const { return context_; }
  void terminate();
  /// Forgets it without a word: in a child after fork its threads do not exist.
  void abandon() { context_ = nullptr; }

 private:
  void* context_;
};

/// A libzmq socket: the C interface with an owner. Not thread-safe.
class ZmqSocket {
 public:
  ZmqSocket() = default;
  ZmqSocket(ZmqSocket&& other) noexcept : socket_(std::exchange(other.socket_, nullptr)) {}
  ZmqSocket& operator=(ZmqSocket&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~ZmqSocket() { close(); }

  [[nodiscard]] static Result<ZmqSocket> open(const ZmqContext& context, int type);

  [[nodiscard]] void* get() const { return socket_; }
  [[nodiscard]] bool is_open() const { return socket_ != nullptr; }
  void close();
  void abandon() { socket_ = nullptr; }

  /// The options are our choice, not the user's: one that libzmq refuses is our bug.
  void set(int option, int value);
  void set(int option, ByteSpan value);

  Result<void> bind(const std::string& endpoint);
  Result<void> connect(const std::string& endpoint);
  [[nodiscard]] std::string last_endpoint() const;
  [[nodiscard]] int fd() const;
  /// Whether a message can be received.
  [[nodiscard]] bool readable() const;

  /// Makes the events of this socket appear on the socket that is returned.
  [[nodiscard]] Result<ZmqSocket> monitor(const ZmqContext& context, const std::string& name,
                                          int events);
  /// Before the socket or its monitor is closed: libzmq's I/O thread would wait for ever to tell a
  /// monitor that is gone about a connection that ends.
  void stop_monitor();

 private:
  explicit ZmqSocket(void* socket) : socket_(socket) {}

  void* socket_ = nullptr;
};

/// One event off a monitor; nothing when there is none. `value`: what libzmq says with it, for
/// connections their descriptor.
[[nodiscard]] std::optional<int> next_monitor_event(const ZmqSocket& monitor,
                                                    std::int32_t* value = nullptr);

/// A whole message as text, or nothing when there is none; parts above `most` are dropped.
[[nodiscard]] std::optional<std::vector<std::string>> receive_strings(const ZmqSocket& socket,
                                                                      std::size_t most);
/// Without waiting; false when the socket does not take it.
[[nodiscard]] bool send_strings(const ZmqSocket& socket, const std::vector<std::string>& parts);

/// "connect to 'tcp://…': Invalid argument", from zmq_errno().
[[nodiscard]] Error zmq_error(std::string_view doing);

}  // namespace muster::comm
