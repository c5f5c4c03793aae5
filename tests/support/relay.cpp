#include "tests/support/relay.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace muster::test {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kQueueBytes = std::size_t{1} << 20;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

/// One direction of a connection.
struct Relay::Pipe {
  struct Chunk {
    TimePoint due;
    std::vector<char> bytes;
  };
  std::deque<Chunk> chunks;
  std::size_t queued = 0;
  bool ended = false;

  /// False when the connection is over.
  bool take_in(int from, TimePoint due) {
    std::array<char, 65536> buffer;
    while (queued < kQueueBytes && !ended) {
      const ssize_t got = ::recv(from, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got < 0) return errno == EAGAIN || errno == EINTR;
      if (got == 0) {
        ended = true;
        break;
      }
      queued += static_cast<std::size_t>(got);
      chunks.push_back({due, std::vector<char>(buffer.data(), buffer.data() + got)});
    }
    return true;
  }

  bool pass_on(int to, TimePoint now, std::atomic<std::uint64_t>& carried) {
    while (!chunks.empty() && chunks.front().due <= now) {
      auto& bytes = chunks.front().bytes;
      const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      carried += static_cast<std::uint64_t>(sent);
      queued -= static_cast<std::size_t>(sent);
      bytes.erase(bytes.begin(), bytes.begin() + sent);
      if (!bytes.empty()) return true;
      chunks.pop_front();
    }
    return !(ended && chunks.empty());
  }
};

struct Relay::Connection {
  FileDescriptor client;
  FileDescriptor server;
  Pipe up;
  Pipe down;
};

Relay::Relay(std::uint16_t target) : target_(target) {
  listener_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  wake_ = FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  if (!listener_ || !wake_ || ::bind(listener_.get(), generic(address), length) != 0 ||
      ::listen(listener_.get(), 64) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw std::runtime_error("[Relay] cannot listen");
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Relay::~Relay() {
  thread_.request_stop();
  wake();
}

std::string Relay::address() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

void Relay::cut() {
  const std::lock_guard lock(mutex_);
  connections_.clear();
  wake();
}

void Relay::block() {
  const std::lock_guard lock(mutex_);
  blocked_ = true;
  connections_.clear();
  wake();
}

void Relay::freeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = true;
}

void Relay::delay(Duration one_way) {
  const std::lock_guard lock(mutex_);
  delay_ = one_way;
}

void Relay::resume() {
  const std::lock_guard lock(mutex_);
  blocked_ = false;
  frozen_ = false;
  wake();
}

std::size_t Relay::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

void Relay::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));
}

void Relay::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> slots{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    Duration longest = milliseconds(100);
    {
      const std::lock_guard lock(mutex_);
      std::uint64_t rung = 0;
      static_cast<void>(!::read(wake_.get(), &rung, sizeof rung));
      accept_one();
      if (!frozen_) {
        longest = std::min(longest, carry_all());
        for (const Connection& one : connections_) {
          // A full direction is looked at again soon instead of being watched.
          if (one.up.queued < kQueueBytes && !one.up.ended)
            slots.push_back({one.client.get(), POLLIN, 0});
          if (one.down.queued < kQueueBytes && !one.down.ended)
            slots.push_back({one.server.get(), POLLIN, 0});
        }
      }
    }
    const timespec timeout{0, static_cast<long>(longest.count())};
    ::ppoll(slots.data(), slots.size(), &timeout, nullptr);
  }
}

void Relay::accept_one() {
  if (frozen_) return;
  FileDescriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!client || blocked_) return;
  FileDescriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(target_);
  if (!server || ::connect(server.get(), generic(address), sizeof address) != 0) return;
  connections_.push_back({std::move(client), std::move(server), {}, {}});
}

// Returns how long it may sleep at most.
Duration Relay::carry_all() {
  const TimePoint now = SteadyClock().now();
  Duration longest = milliseconds(100);
  connections_.remove_if([&](Connection& one) {
    bool alive = one.up.take_in(one.client.get(), now + delay_) &&
                 one.down.take_in(one.server.get(), now + delay_);
    alive = alive && one.up.pass_on(one.server.get(), now, bytes_) &&
            one.down.pass_on(one.client.get(), now, bytes_);
    for (const Pipe* pipe : {&one.up, &one.down}) {
      if (pipe->chunks.empty()) continue;
      longest = std::min(longest,
                         std::clamp<Duration>(pipe->chunks.front().due - now,
                                              std::chrono::microseconds(100), milliseconds(100)));
    }
    return !alive;
  });
  return longest;
}

std::uint16_t port_of(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

}  // namespace muster::test
