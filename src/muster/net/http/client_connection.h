#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "muster/base/buffer.h"
#include "muster/net/byte_stream.h"
#include "muster/net/http/head.h"
#include "muster/net/http/http_client.h"
#include "muster/net/http/stream_reader.h"

namespace muster::net {

/// A request as it goes over the wire.
struct ClientRequest {
  std::string head{};  ///< with the empty line that ends it
  std::span<const ByteSpan> body{};
  bool is_head = false;  ///< the method is HEAD
};

/// A connection to a server, for one request at a time. Not thread-safe.
class ClientConnection {
 public:
  /// `step` is the longest time without progress inside a body.
  ClientConnection(std::shared_ptr<ByteStream> stream, Duration step);

  /// Sends it and reads the answer up to its body.
  Result<ReplyHead> exchange(const ClientRequest& request, TimePoint deadline);
  /// The body, into what `room` gives if that is given and the answer is 2xx.
  Result<HttpReply> read_body(ReplyHead head, const HttpClient::Room* room, std::size_t most,
                              TimePoint deadline);

  /// True if something of an answer came, so that the request must not be repeated.
  [[nodiscard]] bool answered() const { return answered_; }
  /// True if another request can follow.
  [[nodiscard]] bool reusable() const { return reusable_; }
  /// True if nobody closed it meanwhile.
  [[nodiscard]] bool quiet() { return reader_.buffered().empty() && stream_->quiet(); }

  [[nodiscard]] const std::shared_ptr<ByteStream>& stream() const { return stream_; }
  /// What came behind the answer.
  [[nodiscard]] std::string_view ahead() const { return reader_.buffered(); }

 private:
  Result<ReplyHead> read_reply_head(bool is_head, TimePoint deadline);
  Result<HttpReply> read_into(ReplyHead head, BodyReader& body, std::span<std::byte> room,
                              TimePoint deadline);

  std::shared_ptr<ByteStream> stream_;
  Duration step_;
  StreamReader reader_;
  bool answered_ = false;
  bool reusable_ = false;
};

}  // namespace muster::net
