#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "muster/comm/proxy/proxy.h"
#include "wire.h"

namespace muster::bench {
namespace {

using comm::Body;
using comm::Message;
using comm::Proxy;
using comm::ProxyOptions;

template <class T>
T checked(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return *std::move(result);
}

ProxyOptions options_for(const WireSpec& spec, End end) {
  ProxyOptions options;
  options.group = "bench";
  options.type = options.name = end == End::driver ? "driver" : "partner";
  options.expected_peers = {{end == End::driver ? "partner" : "driver", 1}};
  options.discovery = "file:" + spec.meeting_place;
  if (spec.kind == "shm-sleep") {
    options.driver = "shm";
    options.max_spin = Duration::zero();
  } else if (spec.kind.starts_with("zmq-")) {
    options.driver = "zmq";
    options.driver_options = {{"zmq.protocol", spec.kind.substr(4)}};
  } else if (spec.kind == "ucx-tcp") {
    options.driver = "ucx";
    options.driver_options = {{"ucx.transports", "tcp"}};
  } else if (spec.kind == "ucx") {
    options.driver = "ucx";
    options.driver_options = {{"ucx.transports", "posix"}};
  } else {
    options.driver = spec.kind;
  }
  return options;
}

class MusterWire final : public Wire {
 public:
  MusterWire(const WireSpec& spec, End end)
      : proxy_(checked(Proxy::join(options_for(spec, end)))),
        peer_(end == End::driver ? "partner" : "driver"),
        owner_(payload(0), [](const void*) {}) {}

  void send(std::size_t size) override {
    const ByteSpan bytes(payload(turn_++), size);
    Message message;
    if (size <= Buffer::kInline) {
      message.body.assign_plain(comm::BodyType::bytes, bytes);
    } else {
      message.body = Body::bytes(Buffer::share(bytes, owner_));
    }
    send(message);
  }

  void hand_over(std::size_t size) override {
    Message message;
    message.body = Body::bytes(checked(proxy_.allocate(size)).freeze());
    send(message);
  }

  std::size_t receive() override {
    const auto message = proxy_.receive_once(std::chrono::minutes(1));
    if (!message) throw std::runtime_error(message.error().message());
    if (!*message) throw std::runtime_error("no message came within a minute");
    return (*message)->body.buffer().size();
  }

 private:
  void send(Message& message) {
    message.tag = tag_;
    message.destination = peer_;
    message.session_type = comm::SessionType::notification;
    const auto sent = proxy_.isend(std::move(message));
    if (!sent) throw std::runtime_error(sent.error().message());
  }

  Proxy proxy_;
  Name peer_;
  Name tag_ = "bench";
  std::shared_ptr<const void> owner_;  // of memory that is never freed
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Wire> make_muster_wire(const WireSpec& spec, End end) {
  return std::make_unique<MusterWire>(spec, end);
}

}  // namespace muster::bench
