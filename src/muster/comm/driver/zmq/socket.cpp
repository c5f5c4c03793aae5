#include "muster/comm/driver/zmq/socket.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <zmq.h>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

// Three sockets per peer: one to it, and the two ends of the monitor.
constexpr int kMaxSockets = 16384;

}  // namespace

Error zmq_error(std::string_view doing) {
  return {make_error_code(Errc::socket_type),
          fmt::format("{}: {}", doing, zmq_strerror(zmq_errno()))};
}

ZmqContext::ZmqContext() : context_(zmq_ctx_new()) {
  MUSTER_ASSERT(context_ != nullptr, "zmq_ctx_new cannot fail but for memory");
  zmq_ctx_set(context_, ZMQ_MAX_SOCKETS, kMaxSockets);
}

void ZmqContext::terminate() {
  if (context_ == nullptr) return;
  while (zmq_ctx_term(context_) != 0 && zmq_errno() == EINTR) {
  }
  context_ = nullptr;
}

Result<ZmqSocket> ZmqSocket::open(const ZmqContext& context, int type) {
  void* const socket = zmq_socket(context.get(), type);
  if (socket == nullptr) return fail(zmq_error("open a socket"));
  return ZmqSocket(socket);
}

void ZmqSocket::close() {
  if (socket_ != nullptr) zmq_close(std::exchange(socket_, nullptr));
}

void ZmqSocket::set(int option, int value) {
  const int rc = zmq_setsockopt(socket_, option, &value, sizeof value);
  MUSTER_ASSERT(rc == 0, "libzmq knows this option");
}

void ZmqSocket::set(int option, ByteSpan value) {
  const int rc = zmq_setsockopt(socket_, option, value.data(), value.size());
  MUSTER_ASSERT(rc == 0, "libzmq knows this option");
}

Result<void> ZmqSocket::bind(const std::string& endpoint) {
  if (zmq_bind(socket_, endpoint.c_str()) != 0)
    return fail(zmq_error(fmt::format("listen on '{}'", endpoint)));
  return {};
}

Result<void> ZmqSocket::connect(const std::string& endpoint) {
  if (zmq_connect(socket_, endpoint.c_str()) != 0)
    return fail(zmq_error(fmt::format("connect to '{}'", endpoint)));
  return {};
}

std::string ZmqSocket::last_endpoint() const {
  std::string endpoint(256, '\0');
  std::size_t size = endpoint.size();
  const int rc = zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, endpoint.data(), &size);
  MUSTER_ASSERT(rc == 0 && size > 0, "a bound socket has an endpoint");
  endpoint.resize(size - 1);
  return endpoint;
}

int ZmqSocket::fd() const {
  int fd = -1;
  std::size_t size = sizeof fd;
  zmq_getsockopt(socket_, ZMQ_FD, &fd, &size);
  return fd;
}

bool ZmqSocket::readable() const {
  int events = 0;
  std::size_t size = sizeof events;
  return zmq_getsockopt(socket_, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLIN) != 0;
}

Result<ZmqSocket> ZmqSocket::monitor(const ZmqContext& context, const std::string& name,
                                     int events) {
  const std::string endpoint = "inproc://" + name;
  if (zmq_socket_monitor(socket_, endpoint.c_str(), events) != 0)
    return fail(zmq_error("watch a socket"));
  auto monitor = open(context, ZMQ_PAIR);
  if (!monitor) return monitor;
  monitor->set(ZMQ_LINGER, 0);
  if (auto ok = monitor->connect(endpoint); !ok) return fail(ok.error());
  // libzmq signals the descriptor only to a reader that has looked before and found nothing.
  static_cast<void>(next_monitor_event(*monitor));
  return monitor;
}

void ZmqSocket::stop_monitor() { zmq_socket_monitor(socket_, nullptr, 0); }

std::optional<int> next_monitor_event(const ZmqSocket& monitor, std::int32_t* value) {
  // Two parts: number and value of the event, then the endpoint.
  std::byte first[64];
  const int size = zmq_recv(monitor.get(), first, sizeof first, ZMQ_DONTWAIT);
  if (size < static_cast<int>(sizeof(std::uint16_t))) return std::nullopt;
  std::uint16_t event = 0;
  std::memcpy(&event, first, sizeof event);
  if (value != nullptr && size >= static_cast<int>(sizeof event + sizeof *value))
    std::memcpy(value, first + sizeof event, sizeof *value);
  zmq_recv(monitor.get(), first, sizeof first, ZMQ_DONTWAIT);
  return event;
}

std::optional<std::vector<std::string>> receive_strings(const ZmqSocket& socket, std::size_t most) {
  std::vector<std::string> parts;
  bool more = true;
  while (more) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, socket.get(), ZMQ_DONTWAIT) < 0) {
      zmq_msg_close(&message);
      if (zmq_errno() == EINTR) continue;
      return std::nullopt;
    }
    if (parts.size() < most)
      parts.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    more = zmq_msg_more(&message) != 0;
    zmq_msg_close(&message);
  }
  return parts;
}

bool send_strings(const ZmqSocket& socket, const std::vector<std::string>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int flags = ZMQ_DONTWAIT | (i + 1 < parts.size() ? ZMQ_SNDMORE : 0);
    while (zmq_send(socket.get(), parts[i].data(), parts[i].size(), flags) < 0) {
      if (zmq_errno() != EINTR) return false;
    }
  }
  return true;
}

}  // namespace muster::comm
