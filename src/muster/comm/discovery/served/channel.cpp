#include "muster/comm/discovery/served/channel.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <span>
#include <utility>
#include <zmq.h>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/comm/errc.h"

namespace muster::comm::served {
namespace {

constexpr int kReconnectMs = 20;
constexpr int kReconnectAtMostMs = 500;
constexpr int kConnectMs = 2000;
constexpr int kEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
constexpr Duration kLongestSleep = std::chrono::seconds(1);
constexpr Duration kLook = std::chrono::milliseconds(100);  // at a deadline that may be moved

}  // namespace

Result<std::unique_ptr<Channel>> Channel::open(const ZmqContext& context,
                                               const std::string& address,
                                               const ZmqCredentials& credentials) {
  std::unique_ptr<Channel> channel(new Channel());
  auto socket = ZmqSocket::open(context, ZMQ_DEALER);
  if (!socket) return fail(socket.error());
  channel->socket_ = *std::move(socket);
  ZmqSocket& dealer = channel->socket_;
  dealer.set(ZMQ_LINGER, 0);
  dealer.set(ZMQ_SNDHWM, kMostQueued);
  dealer.set(ZMQ_RCVHWM, kMostQueued);
  dealer.set(ZMQ_RECONNECT_IVL, kReconnectMs);
  dealer.set(ZMQ_RECONNECT_IVL_MAX, kReconnectAtMostMs);
  dealer.set(ZMQ_CONNECT_TIMEOUT, kConnectMs);
  dealer.set(ZMQ_IPV6, address.starts_with("tcp://[") ? 1 : 0);
  const std::int64_t longest = kLongestPart;
  dealer.set(ZMQ_MAXMSGSIZE, std::as_bytes(std::span(&longest, 1)));
  credentials.use_as_client(dealer);
  auto monitor =
      dealer.monitor(context, fmt::format("muster-store-{:016x}", secure_random_u64()), kEvents);
  if (!monitor) return fail(monitor.error());
  channel->monitor_ = *std::move(monitor);
  if (auto ok = dealer.connect(address); !ok) return fail(ok.error());
  return channel;
}

Channel::~Channel() {
  if (socket_.is_open()) socket_.stop_monitor();
  socket_.close();
  monitor_.close();
}

void Channel::abandon() {
  socket_.abandon();
  monitor_.abandon();
}

Result<std::optional<Parts>> Channel::ask(Parts request, TimePoint deadline,
                                          const Interrupt* interrupt,
                                          const std::atomic<TimePoint>* sooner) {
  const std::string id = std::to_string(++last_id_);
  request.insert(request.begin(), {std::string(kProtocol), id});
  note_events({});
  bool sent = false;
  while (true) {
    // Not at once where libzmq still counts earlier ones as waiting.
    if (!sent) sent = send_strings(socket_, request);
    while (auto answer = receive_strings(socket_, std::numeric_limits<std::size_t>::max())) {
      if (answer->size() < 2 || answer->front() != id)
        continue;  // a late one to an earlier request
      answer->erase(answer->begin());
      return *std::move(answer);
    }
    note_events(request);
    if (denied_) return fail(Errc::refused, "it does not let this process in");
    if (interrupt != nullptr && interrupt->take()) return std::nullopt;
    const TimePoint until = sooner != nullptr ? std::min(deadline, sooner->load()) : deadline;
    const Duration left = until - SteadyClock().now();
    if (left <= Duration(0)) return std::nullopt;
    std::array<zmq_pollitem_t, 3> items{
        zmq_pollitem_t{socket_.get(), 0,
                       static_cast<short>(sent ? ZMQ_POLLIN : ZMQ_POLLIN | ZMQ_POLLOUT), 0},
        zmq_pollitem_t{monitor_.get(), 0, ZMQ_POLLIN, 0},
        zmq_pollitem_t{nullptr, interrupt != nullptr ? interrupt->fd() : -1, ZMQ_POLLIN, 0}};
    const Duration sleep = std::min(left, sooner != nullptr ? kLook : kLongestSleep);
    zmq_poll(items.data(), interrupt != nullptr ? 3 : 2,
             static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(sleep).count()));
  }
}

// What had left this process when a connection ended may be lost; what had not is sent by libzmq.
void Channel::note_events(const Parts& under_way) {
  while (const auto event = next_monitor_event(monitor_)) {
    if (*event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      if (std::exchange(broken_, false) && !under_way.empty())
        static_cast<void>(send_strings(socket_, under_way));
      rejected_ = denied_ = false;
    } else if (*event == ZMQ_EVENT_DISCONNECTED) {
      broken_ = true;
    } else {
      rejected_ = true;
      denied_ = *event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    }
  }
}

}  // namespace muster::comm::served
