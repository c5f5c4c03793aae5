#include "muster/comm/driver/zmq/zmq_transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <utility>
#include <zmq.h>

#include <fmt/format.h>

#include "muster/base/fork_guard.h"
#include "muster/base/log.h"
#include "muster/comm/driver/zmq/endpoint.h"
#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

using std::chrono::milliseconds;

// A farewell leaves within microseconds when the connection stands. Nothing else is in the queue by
// then, so this is what closing may take when the peer died a moment ago.
constexpr int kLingerMs = 100;
constexpr int kReconnectMs = 20;
constexpr int kReconnectAtMostMs = 200;

// Keys in the event queue; ways have the number of their peer.
constexpr std::uint64_t kPull = ~std::uint64_t{0};
constexpr std::uint64_t kPullMonitor = kPull - 1;
constexpr std::uint64_t kZap = kPull - 2;

constexpr int kWayEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED;
// A stranger without any secret may notice the difference first and hang up without a word. Where
// no secret is asked for, hanging up means nothing.
constexpr int kStrangerEvents =
    ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
constexpr int kStrangerEventsWithSecret = kStrangerEvents | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

int to_ms(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<milliseconds>(duration).count());
}

Result<void> check_allowed(const ListenPlan& plan, const Security& security) {
  if (plan.loopback || !security.secret.empty() || security.insecure) return {};
  return fail(Errc::refused, fmt::format("zmq may not listen on '{}', which other hosts can reach, "
                                         "without a secret: set MUSTER_SECRET, "
                                         "or say 'insecure' to let anybody in",
                                         plan.endpoint));
}

}  // namespace

Result<std::unique_ptr<ZmqTransport>> ZmqTransport::open(const Security& security, Duration lease,
                                                         const ZmqOptions& options) {
  std::unique_ptr<ZmqTransport> transport(new ZmqTransport(lease));
  if (auto ok = transport->listen(security, options); !ok) return fail(ok.error());
  return transport;
}

Result<void> ZmqTransport::listen(const Security& security, const ZmqOptions& options) {
  const auto plan = plan_listening(options);
  if (!plan) return fail(plan.error());
  if (auto ok = check_allowed(*plan, security); !ok) return ok;
  made_in_ = fork_generation();
  ipv6_ = plan->ipv6;
  epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return fail(system_error(errno, "make an event queue"));
  auto pull = ZmqSocket::open(context_, ZMQ_PULL);
  if (!pull) return fail(pull.error());
  pull_ = *std::move(pull);
  pull_.set(ZMQ_LINGER, 0);
  pull_.set(ZMQ_RCVHWM, 0);
  set_tcp_options(pull_);
  auto credentials = ZmqCredentials::make(security);
  if (!credentials) return fail(credentials.error());
  credentials_ = *std::move(credentials);
  auto zap = credentials_.open_zap(context_);
  if (!zap) return fail(zap.error());
  if (*zap) {
    zap_.emplace(**std::move(zap));
    if (auto ok = watch(zap_->fd(), kZap); !ok) return ok;
  }
  credentials_.use_as_server(pull_);
  auto monitor =
      pull_.monitor(context_, "muster-pull",
                    credentials_.encrypts() ? kStrangerEventsWithSecret : kStrangerEvents);
  if (!monitor) return fail(monitor.error());
  pull_monitor_ = *std::move(monitor);
  if (auto ok = watch(pull_monitor_.fd(), kPullMonitor); !ok) return ok;
  if (auto ok = watch(pull_.fd(), kPull); !ok) return ok;
  if (auto ok = pull_.bind(plan->endpoint); !ok) return ok;
  address_ = advertised_address(*plan, pull_.last_endpoint());
  return {};
}

// Not ZMTP heartbeats: those count messages, so a large one on a slow line looks like silence. TCP
// counts bytes.
void ZmqTransport::set_tcp_options(ZmqSocket& socket) const {
  const int seconds = std::max(1, to_ms(lease_) / 3000);
  socket.set(ZMQ_IPV6, ipv6_ ? 1 : 0);
  socket.set(ZMQ_TCP_KEEPALIVE, 1);
  socket.set(ZMQ_TCP_KEEPALIVE_IDLE, seconds);
  socket.set(ZMQ_TCP_KEEPALIVE_INTVL, seconds);
  socket.set(ZMQ_TCP_KEEPALIVE_CNT, 2);
  // With pings every third of the lease, a dead host is noticed within the lease.
  socket.set(ZMQ_TCP_MAXRT, std::max(100, to_ms(lease_ * 2 / 3)));
}

Result<void> ZmqTransport::watch(int fd, std::uint64_t key) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = key;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return fail(system_error(errno, "watch a descriptor"));
  return {};
}

Result<void> ZmqTransport::connect(PeerId peer, const Entry& entry) {
  const auto found = entry.addresses.find("zmq");
  if (found == entry.addresses.end())
    return fail(Errc::socket_type, fmt::format("'{}' has no zmq address", entry.name.view()));
  const std::string& address = found->second;
  if (!address.starts_with("tcp://") && !address.starts_with("ipc://")) {
    return fail(Errc::socket_type,
                fmt::format("'{}' has the zmq address '{}', not tcp:// or ipc://",
                            entry.name.view(), address));
  }
  auto way = open_way(peer, address);
  if (!way) return fail(way.error());
  ways_.insert_or_assign(peer, *std::move(way));
  return {};
}

Result<ZmqTransport::Way> ZmqTransport::open_way(PeerId peer, const std::string& address) {
  Way way;
  auto push = ZmqSocket::open(context_, ZMQ_PUSH);
  if (!push) return fail(push.error());
  way.push = *std::move(push);
  way.push.set(ZMQ_LINGER, 0);
  way.push.set(ZMQ_SNDHWM, 0);
  way.push.set(ZMQ_RECONNECT_IVL, kReconnectMs);
  way.push.set(ZMQ_RECONNECT_IVL_MAX, kReconnectAtMostMs);
  way.push.set(ZMQ_CONNECT_TIMEOUT, std::max(100, to_ms(lease_ / 3)));
  set_tcp_options(way.push);
  way.push.set(ZMQ_IPV6, address.starts_with("tcp://[") ? 1 : 0);
  credentials_.use_as_client(way.push);
  auto monitor =
      way.push.monitor(context_, fmt::format("muster-way-{}", ++monitors_made_), kWayEvents);
  if (!monitor) return fail(monitor.error());
  way.monitor = *std::move(monitor);
  if (auto ok = watch(way.monitor.fd(), peer.value()); !ok) return fail(ok.error());
  if (auto ok = way.push.connect(address); !ok) return fail(ok.error());
  return way;
}

void ZmqTransport::disconnect(PeerId peer) {
  const auto found = ways_.find(peer);
  if (found == ways_.end()) return;
  close_way(found->second);
  ways_.erase(found);
}

void ZmqTransport::close_way(Way& way) {
  if (way.connected) way.push.set(ZMQ_LINGER, kLingerMs);
  // A forked child that inherited it would keep it watched.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, way.monitor.fd(), nullptr);
  way.push.stop_monitor();
  way.push.close();
  way.monitor.close();
}

bool ZmqTransport::send(PeerId peer, const Frame& frame) {
  const auto found = ways_.find(peer);
  return found != ways_.end() && found->second.connected && send_frame(found->second.push, frame);
}

std::optional<Frame> ZmqTransport::receive() {
  if (!pull_.is_open()) return std::nullopt;
  auto received = receive_frame(pull_);
  if (!received) return std::nullopt;
  last_head_ = std::move(received->head);
  return std::move(received->frame);
}

std::string ZmqTransport::last_sender() const {
  return last_head_ ? sender_of(*last_head_) : "nobody";
}

std::optional<TransportEvent> ZmqTransport::next_event() {
  if (events_.empty()) collect_events();
  if (events_.empty()) return std::nullopt;
  TransportEvent event = events_.front();
  events_.pop_front();
  return event;
}

void ZmqTransport::collect_events() {
  if (!pull_.is_open()) return;
  std::array<epoll_event, 32> ready;
  const int count = ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = ready[static_cast<std::size_t>(i)].data.u64;
    if (key == kPull) continue;  // `receive` takes care of it
    if (key == kZap) {
      zap_->serve();
    } else if (key == kPullMonitor) {
      count_strangers();
    } else {
      collect_from(PeerId(static_cast<std::uint32_t>(key)));
    }
  }
}

void ZmqTransport::collect_from(PeerId peer) {
  const auto found = ways_.find(peer);
  if (found == ways_.end()) return;
  while (const auto event = next_monitor_event(found->second.monitor)) {
    found->second.connected = *event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    events_.push_back({peer, found->second.connected ? TransportEvent::Kind::connected
                                                     : TransportEvent::Kind::disconnected});
  }
}

void ZmqTransport::count_strangers() {
  while (next_monitor_event(pull_monitor_)) {
    ++strangers_;
    log(LogLevel::debug, "comm", "somebody who knocked at {} failed the handshake", address_);
  }
}

void ZmqTransport::close() {
  if (!pull_.is_open()) return;
  if (fork_generation() != made_in_) return abandon();
  collect_events();  // who is gone by now needs no time for a farewell
  for (auto& [peer, way] : ways_) close_way(way);
  ways_.clear();
  pull_.stop_monitor();
  pull_monitor_.close();
  pull_.close();
  if (zap_) zap_->close();
  context_.terminate();
}

void ZmqTransport::abandon() {
  for (auto& [peer, way] : ways_) {
    way.push.abandon();
    way.monitor.abandon();
  }
  pull_monitor_.abandon();
  pull_.abandon();
  if (zap_) zap_->abandon();
  context_.abandon();
}

}  // namespace muster::comm
