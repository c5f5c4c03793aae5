#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/net/byte_stream.h"
#include "muster/net/http/stream_reader.h"
#include "muster/net/http/web_socket.h"
#include "muster/net/http/web_socket_frame.h"

namespace muster::net {

/// One end of a web socket, after the handshake. Frames are written here, because Beast's
/// synchronous ones can neither go on after a deadline nor send while another thread receives.
class WebSocketEnd final : public WebSocket {
 public:
  /// `ahead` are bytes of the stream that were read behind the handshake.
  WebSocketEnd(std::shared_ptr<ByteStream> stream, std::string_view ahead, WebSocketRole role,
               const WebSocketOptions& options);
  WebSocketEnd(const WebSocketEnd&) = delete;
  WebSocketEnd& operator=(const WebSocketEnd&) = delete;
  ~WebSocketEnd() override;

  Result<void> send_text(std::string_view text) override;
  Result<void> send_bytes(ByteSpan bytes) override;
  Result<std::optional<WebSocketMessage>> receive(TimePoint deadline) override;
  void close(std::uint16_t code, std::string_view reason) override;

 private:
  struct Posted {
    Opcode opcode;
    std::string payload;
  };

  Result<void> send(Opcode opcode, ByteSpan payload);
  // `sending_` must be held.
  Result<void> write_frame(Opcode opcode, ByteSpan payload, const Patience& patience);
  Result<void> write_masked(const FrameHeader& header, ByteSpan payload, const Patience& patience);
  // Leaves a control frame to whoever sends now, or sends it: who receives never waits for a
  // sender, because the other end may wait for us to receive.
  void post(Opcode opcode, std::string payload);
  void send_posted();
  [[nodiscard]] std::optional<Posted> next_posted();
  [[nodiscard]] bool anything_posted();

  // All below: `receiving_` must be held.
  // Reads some bytes; true when `message_` is complete.
  Result<bool> step(TimePoint until);
  Result<bool> begin_frame(const FrameHeader& header);
  Result<void> read_payload(TimePoint until);
  Result<bool> end_frame();
  Result<void> obey(const FrameHeader& frame);
  Result<void> closed_by_other();
  // Tells the other end what it did wrong.
  tl::unexpected<Error> complain(std::uint16_t code, const Error& error);
  // Nothing came in time: is anybody there?
  Result<void> look_for_life(TimePoint now);
  Result<std::optional<WebSocketMessage>> end_with(const Error& error);
  WebSocketMessage take_message();

  const std::shared_ptr<ByteStream> stream_;
  const WebSocketRole role_;
  const WebSocketOptions options_;

  std::mutex sending_;
  std::mutex posting_;
  std::vector<Posted> posted_;  // `posting_` must be held
  std::atomic<bool> close_sent_ = false;
  std::atomic<TimePoint> close_until_ = TimePoint::max();

  std::mutex receiving_;
  StreamReader reader_;
  std::optional<FrameHeader> frame_;
  std::uint64_t frame_read_ = 0;
  std::vector<std::byte> control_;
  std::vector<std::byte> message_;
  std::optional<Opcode> message_kind_;  // while one is being received
  std::optional<Error> ended_;
  TimePoint heard_;
  TimePoint pinged_;
};

}  // namespace muster::net
