#include "muster/comm/driver/zmq/frame_io.h"

#include <cerrno>
#include <cstring>
#include <utility>
#include <zmq.h>

#include "muster/base/assert.h"

namespace muster::comm {

struct ReceivedPart {
  ReceivedPart() { zmq_msg_init(&message); }
  ~ReceivedPart() { zmq_msg_close(&message); }
  ReceivedPart(const ReceivedPart&) = delete;
  ReceivedPart& operator=(const ReceivedPart&) = delete;

  zmq_msg_t message{};
};

namespace {

// Below this, copying costs less than the two allocations that keep a shared buffer alive.
constexpr std::size_t kCopyBelow = 1024;

using Owner = std::shared_ptr<const void>;

void let_go(void* /*data*/, void* hint) {
  const std::unique_ptr<Owner> owner(static_cast<Owner*>(hint));
}

bool send_part(const ZmqSocket& socket, const Buffer& buffer, int flags) {
  zmq_msg_t message;
  if (buffer.size() < kCopyBelow || !buffer.owner()) {
    zmq_msg_init_size(&message, buffer.size());
    if (!buffer.empty()) std::memcpy(zmq_msg_data(&message), buffer.data(), buffer.size());
  } else {
    // libzmq reads the bytes only, although its interface does not say so.
    void* const data =
        const_cast<std::byte*>(buffer.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    zmq_msg_init_data(&message, data, buffer.size(), let_go,
                      std::make_unique<Owner>(buffer.owner()).release());
  }
  while (zmq_msg_send(&message, socket.get(), flags | ZMQ_DONTWAIT) < 0) {
    if (zmq_errno() == EINTR) continue;
    zmq_msg_close(&message);
    return false;
  }
  return true;
}

std::shared_ptr<ReceivedPart> receive_part(const ZmqSocket& socket) {
  auto part = std::make_shared<ReceivedPart>();
  while (zmq_msg_recv(&part->message, socket.get(), ZMQ_DONTWAIT) < 0) {
    if (zmq_errno() != EINTR) return nullptr;
  }
  return part;
}

Buffer buffer_of(std::shared_ptr<ReceivedPart> part) {
  auto* const data = static_cast<std::byte*>(zmq_msg_data(&part->message));
  const std::size_t size = zmq_msg_size(&part->message);
  // libzmq keeps small messages in a block of 18 KiB that it uses again when nobody refers to it.
  if (size < kCopyBelow) return Buffer::copy_of({data, size});
  return Buffer::give({data, size}, std::move(part));
}

}  // namespace

bool send_frame(const ZmqSocket& socket, const Frame& frame) {
  if (!send_part(socket, frame.head, frame.parts.empty() ? 0 : ZMQ_SNDMORE)) return false;
  for (std::size_t i = 0; i < frame.parts.size(); ++i) {
    const bool sent =
        send_part(socket, frame.parts[i], i + 1 < frame.parts.size() ? ZMQ_SNDMORE : 0);
    // A socket that took the first part has room for the others.
    if (!sent) return false;
  }
  return true;
}

std::optional<ReceivedFrame> receive_frame(const ZmqSocket& socket) {
  auto head = receive_part(socket);
  if (!head) return std::nullopt;
  ReceivedFrame received{.frame = {.head = buffer_of(head), .parts = {}}, .head = head};
  bool more = zmq_msg_more(&head->message) != 0;
  while (more) {
    auto part = receive_part(socket);
    if (!part)
      break;  // libzmq delivers all parts of a message at once; what is missing will be noticed
    more = zmq_msg_more(&part->message) != 0;
    received.frame.parts.push_back(buffer_of(std::move(part)));
  }
  return received;
}

std::string sender_of(const ReceivedPart& part) {
  const char* const address = zmq_msg_gets(&part.message, "Peer-Address");
  return address != nullptr && *address != '\0' ? address : "a local process";
}

}  // namespace muster::comm
