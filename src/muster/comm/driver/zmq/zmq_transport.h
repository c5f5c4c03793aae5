#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "muster/base/clock.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/driver/zmq/credentials.h"
#include "muster/comm/driver/zmq/curve.h"
#include "muster/comm/driver/zmq/frame_io.h"
#include "muster/comm/driver/zmq/options.h"
#include "muster/comm/driver/zmq/socket.h"
#include "muster/comm/link/frame_transport.h"
#include "muster/runtime/fd.h"

namespace muster::comm {

/// Frames over ZeroMQ: one PULL socket that everybody sends to, one PUSH socket per peer. Nothing
/// here ever blocks and no queue of libzmq has a limit of its own: the links above bound what is on
/// its way.
///
/// libzmq's descriptors only say that something may have changed, once: after a wake-up, `receive`
/// and `next_event` have to be called until they return nothing, as `LinkDriver` does.
class ZmqTransport final : public FrameTransport {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ZmqTransport>> open(const Security& security,
                                                                  Duration lease,
                                                                  const ZmqOptions& options);
  ~ZmqTransport() override { close(); }

  [[nodiscard]] std::string_view name() const override { return "zmq"; }
  [[nodiscard]] std::string address() const override { return address_; }

  Result<void> connect(PeerId peer, const Entry& entry) override;
  void disconnect(PeerId peer) override;
  bool send(PeerId peer, const Frame& frame) override;
  [[nodiscard]] std::optional<Frame> receive() override;
  [[nodiscard]] std::string last_sender() const override;
  [[nodiscard]] std::optional<TransportEvent> next_event() override;

  [[nodiscard]] bool ready() const override { return pull_.is_open() && pull_.readable(); }
  [[nodiscard]] int data_fd() const override { return epoll_.get(); }
  [[nodiscard]] std::uint64_t strangers() const override { return strangers_; }
  void close() override;

 private:
  struct Way {
    ZmqSocket push;
    ZmqSocket monitor;
    bool connected = false;
  };

  explicit ZmqTransport(Duration lease) : lease_(lease) {}

  Result<void> listen(const Security& security, const ZmqOptions& options);
  Result<Way> open_way(PeerId peer, const std::string& address);
  void set_tcp_options(ZmqSocket& socket) const;
  Result<void> watch(int fd, std::uint64_t key);
  void collect_events();
  void collect_from(PeerId peer);
  void count_strangers();
  void close_way(Way& way);
  void abandon();

  Duration lease_;
  std::uint64_t made_in_ = 0;  // fork generation
  ZmqContext context_;         // first, so that it ends after its sockets
  ZmqCredentials credentials_;
  std::optional<ZapHandler> zap_;
  ZmqSocket pull_;
  ZmqSocket pull_monitor_;
  FileDescriptor epoll_;  // pull_, pull_monitor_, zap_ and the monitors of all ways
  std::unordered_map<PeerId, Way> ways_;
  std::uint64_t monitors_made_ = 0;
  std::string address_;
  bool ipv6_ = false;
  std::deque<TransportEvent> events_;
  std::shared_ptr<const ReceivedPart> last_head_;
  std::uint64_t strangers_ = 0;
};

}  // namespace muster::comm
