#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "muster/net/byte_stream.h"
#include "muster/net/http/head.h"
#include "muster/net/http/http_server.h"
#include "muster/net/http/stream_reader.h"

namespace muster::net {

/// One client of a server, in a thread of its own. What it refers to outlives it.
class ServerConnection {
 public:
  ServerConnection(std::shared_ptr<ByteStream> stream, std::string peer,
                   const HttpServerOptions& options, const HttpServer::Handler& handler,
                   ServerState& server);

  /// Serves one request after the other until the connection ends.
  void run();

  /// No further request; one that is being answered may go on. Thread-safe.
  void end_reading() { stream_->end_reading(); }
  /// Thread-safe.
  void cut() { stream_->cut(); }

 private:
  // False when there is none.
  bool wait_for_request();
  // True if another may follow.
  bool serve_request();
  bool serve(RequestHead head);
  void refuse(const Refusal& refusal);
  // Lets the client read the last answer: closing with unread bytes would make the kernel tell it
  // that the connection broke.
  void linger();

  const std::shared_ptr<ByteStream> stream_;
  const std::string peer_;
  const HttpServerOptions& options_;
  const HttpServer::Handler& handler_;
  ServerState& server_;
  StreamReader reader_;
};

}  // namespace muster::net
