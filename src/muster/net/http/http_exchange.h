#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/net/byte_stream.h"
#include "muster/net/http/body_reader.h"
#include "muster/net/http/head.h"
#include "muster/net/http/http_message.h"
#include "muster/net/http/stream_reader.h"
#include "muster/net/http/web_socket.h"

namespace muster::net {

struct HttpServerOptions;

/// What all connections of a server share. Thread-safe.
struct ServerState {
  std::atomic<bool> stopping = false;
  std::atomic<std::size_t> streams = 0;  ///< connections that are web sockets now
};

/// One request and its answer. A handler gets it in a thread of its own and answers before it
/// returns: with `answer`, with `begin`, `write`… and `end`, or with `upgrade`. What it leaves
/// unanswered the server answers: 413, 408 or 400 when reading the body failed, else 500.
/// Only from the handler's thread.
class HttpExchange {
 public:
  /// Made by the server. All that is referred to outlives it.
  HttpExchange(std::shared_ptr<ByteStream> stream, StreamReader& reader, RequestHead head,
               const HttpServerOptions& options, ServerState& server);
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;
  ~HttpExchange();

  [[nodiscard]] const HttpRequest& request() const { return head_.request; }

  /// 0 where there is no body, nothing where only its end will tell.
  [[nodiscard]] std::optional<std::uint64_t> body_length() const;
  /// What has come of the body; 0 at its end. A client that waits for "100 Continue" gets it now.
  Result<std::size_t> read_body(std::span<std::byte> into);
  /// All of the body. `Errc::too_large` if it has more than `most` bytes.
  Result<Buffer> whole_body(std::size_t most);

  /// The whole answer. `type` is the Content-Type; none is sent when it is empty.
  /// Throws std::invalid_argument for a header that would break the message.
  Result<void> answer(int status, std::string_view type, ByteSpan body,
                      const HeaderList& headers = {});
  Result<void> answer(int status, std::string_view type, std::string_view body,
                      const HeaderList& headers = {}) {
    return answer(status, type, as_bytes(body), headers);
  }

  /// An answer in pieces, in chunks where the length is not given.
  Result<void> begin(int status, std::string_view type, std::optional<std::uint64_t> length,
                     const HeaderList& headers = {});
  Result<void> write(ByteSpan bytes);
  /// Without it, or short of the length that was announced, the connection is cut, so that the
  /// client sees that something is missing.
  Result<void> end();

  /// Answers that this is a web socket now. Refuses (with an answer) what is no such request,
  /// comes from a page that may not, or is one more than the server may have. Ends with the
  /// handler.
  Result<std::unique_ptr<WebSocket>> upgrade(const WebSocketOptions& options = {});

  /// True once an answer was begun.
  [[nodiscard]] bool answered() const { return phase_ != Phase::waiting; }
  /// True once the server stops: a handler that waits for something else returns then.
  [[nodiscard]] bool stopping() const { return server_.stopping; }

  /// For the server, when the handler threw.
  void handler_failed(std::string_view what);
  /// For the server, when the handler is back: answers what was left unanswered and reads what was
  /// left of a short body. True if the connection can take another request.
  bool finish();

 private:
  enum class Phase : std::uint8_t { waiting, begun, ended, upgraded };

  // Takes a place among the web sockets; false when there is none.
  bool take_stream();
  [[nodiscard]] Patience patience() const;
  Result<void> send(std::span<const ByteSpan> parts);
  // The lines of the answer up to the body.
  [[nodiscard]] std::string answer_head(int status, std::string_view type,
                                        const HeaderList& headers) const;
  Result<void> begin_with(int status, std::string_view type, std::optional<std::uint64_t> length,
                          const HeaderList& headers, ByteSpan body);
  Result<void> refuse(int status, std::string_view text, const HeaderList& headers = {});
  Result<void> send_continue();
  Result<std::size_t> note(Result<std::size_t> got);
  bool drain();

  std::shared_ptr<ByteStream> stream_;
  StreamReader& reader_;              // the connection's
  const HttpServerOptions& options_;  // the server's
  ServerState& server_;
  RequestHead head_;
  BodyReader body_;
  Phase phase_ = Phase::waiting;
  bool keep_alive_;
  bool continue_wanted_;
  bool sends_body_ = false;  // not for HEAD and statuses that have none
  bool sends_chunks_ = false;
  bool is_stream_ = false;
  std::optional<std::uint64_t> left_{};  // of the announced length
  int unread_status_ = 500;              // what a request without an answer gets
  std::string unread_why_ = "the server gave no answer";
};

}  // namespace muster::net
