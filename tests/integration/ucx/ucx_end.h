#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "muster/comm/driver/ucx/ucx_transport.h"

namespace muster::comm {

/// One end of the transport alone, without links.
class UcxEnd {
 public:
  explicit UcxEnd(const std::string& name, Security security = {}, UcxOptions options = {},
                  std::string group = "ucx")
      : self(local_entry(name, "end")), group_(std::move(group)), doorbell_(*Doorbell::create()) {
    const DriverContext context{
        self, group_, *doorbell_, clock_, security, {}, std::chrono::seconds(3)};
    auto opened = UcxTransport::open(context, options);
    if (!opened) throw std::runtime_error(opened.error().message());
    transport = *std::move(opened);
    self.addresses.emplace("ucx", transport->address());
  }

  /// Takes what has come; true when the way to `peer` is open.
  bool step(PeerId peer) {
    while (auto frame = transport->receive()) frames.push_back(*std::move(frame));
    while (const auto event = transport->next_event())
      open[event->peer] = event->kind == TransportEvent::Kind::connected;
    return open[peer];
  }

  Frame frame_to(const Entry& peer, std::size_t part_bytes = 0) const {
    const FrameHeader header{.kind = FrameKind::data,
                             .source = self.instance,
                             .destination = peer.instance,
                             .source_epoch = 1,
                             .destination_epoch = 1,
                             .seq = 1,
                             .records = 1};
    Frame frame = make_frame(header, std::vector<std::byte>(50));
    if (part_bytes != 0) frame.parts = {Buffer::take(std::vector<std::byte>(part_bytes))};
    return frame;
  }

  Entry self;

 private:
  std::string group_;
  SteadyClock clock_;
  std::unique_ptr<Doorbell> doorbell_;

 public:
  std::unique_ptr<UcxTransport> transport;
  std::vector<Frame> frames;
  std::map<PeerId, bool> open;
};

/// Calls `step` until it is true, for at most ten seconds.
template <class Step>
bool until(Step step) {
  const SteadyClock clock;
  const TimePoint end = clock.now() + std::chrono::seconds(10);
  while (!step()) {
    if (clock.now() > end) return false;
  }
  return true;
}

}  // namespace muster::comm
