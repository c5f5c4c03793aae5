#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <zmq.h>

#include <fmt/format.h>

#include "wire.h"

namespace muster::bench {
namespace {

constexpr int kMinute = 60'000;
// From here on libzmq sends faster without a copy; below, its own small allocation wins.
constexpr std::size_t kZeroCopy = std::size_t{32} << 10;

void check(int result) {
  if (result < 0) throw std::runtime_error(fmt::format("libzmq: {}", zmq_strerror(errno)));
}

// Ends of one process share a context, because inproc addresses belong to it.
void* context() {
  static void* const instance = zmq_ctx_new();
  return instance;
}

/// PUSH and PULL for messages that go one way, PAIR for those that come back.
class ZmqWire final : public Wire {
 public:
  ZmqWire(const WireSpec& spec, End end) {
    const bool pair = spec.kind.ends_with("-pair");
    const int one_way = end == End::driver ? ZMQ_PUSH : ZMQ_PULL;
    socket_ = zmq_socket(context(), pair ? ZMQ_PAIR : one_way);
    if (socket_ == nullptr) check(-1);
    check(zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &kMinute, sizeof kMinute));
    check(zmq_setsockopt(socket_, ZMQ_SNDTIMEO, &kMinute, sizeof kMinute));
    const int no_linger = 0;
    check(zmq_setsockopt(socket_, ZMQ_LINGER, &no_linger, sizeof no_linger));
    end == End::partner ? bind(spec) : connect(spec);
  }
  ZmqWire(const ZmqWire&) = delete;
  ZmqWire& operator=(const ZmqWire&) = delete;
  ~ZmqWire() override { zmq_close(socket_); }

  void send(std::size_t size) override {
    if (size < kZeroCopy) {
      check(zmq_send(socket_, payload(turn_++), size, 0));
      return;
    }
    zmq_msg_t message;
    void* const data = const_cast<std::byte*>(payload(turn_++));  // libzmq does not write to it
    check(zmq_msg_init_data(&message, data, size, [](void*, void*) {}, nullptr));
    check(zmq_msg_send(&message, socket_, 0));
  }

  std::size_t receive() override {
    zmq_msg_t message;
    check(zmq_msg_init(&message));
    check(zmq_msg_recv(&message, socket_, 0));
    const std::size_t size = zmq_msg_size(&message);
    check(zmq_msg_close(&message));
    return size;
  }

 private:
  void bind(const WireSpec& spec) {
    const bool tcp = spec.kind.starts_with("raw-tcp");
    const bool ipc = spec.kind.starts_with("raw-ipc");
    const std::string place = spec.meeting_place;
    check(zmq_bind(socket_, tcp   ? "tcp://127.0.0.1:*"
                            : ipc ? ("ipc://" + place + "/socket").c_str()
                                  : ("inproc://" + place).c_str()));
    char endpoint[512];
    std::size_t length = sizeof endpoint;
    check(zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, endpoint, &length));
    std::ofstream(place + "/endpoint.new") << endpoint;
    std::filesystem::rename(place + "/endpoint.new", place + "/endpoint");
  }

  void connect(const WireSpec& spec) {
    const std::string file = spec.meeting_place + "/endpoint";
    for (int i = 0; i < 10'000 && !std::filesystem::exists(file); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::string endpoint;
    if (!std::getline(std::ifstream(file), endpoint))
      throw std::runtime_error("the partner's socket did not appear");
    check(zmq_connect(socket_, endpoint.c_str()));
  }

  void* socket_ = nullptr;
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Wire> make_zmq_wire(const WireSpec& spec, End end) {
  return std::make_unique<ZmqWire>(spec, end);
}

}  // namespace muster::bench
