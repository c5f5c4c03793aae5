#pragma once

#include <memory>
#include <optional>
#include <string>

#include "muster/comm/driver/zmq/socket.h"
#include "muster/comm/link/frame.h"

namespace muster::comm {

struct ReceivedPart;

/// A frame off a socket, and its first part as libzmq has it.
struct ReceivedFrame {
  Frame frame;
  std::shared_ptr<const ReceivedPart> head;
};

/// Sends all parts of a frame or none. Large buffers are not copied: libzmq keeps them alive, and
/// lets them go from its own thread.
[[nodiscard]] bool send_frame(const ZmqSocket& socket, const Frame& frame);

/// Whatever has arrived as one message; the buffers share libzmq's memory.
[[nodiscard]] std::optional<ReceivedFrame> receive_frame(const ZmqSocket& socket);

/// The address of the sender as libzmq knows it.
[[nodiscard]] std::string sender_of(const ReceivedPart& part);

}  // namespace muster::comm
