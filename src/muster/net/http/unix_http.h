#pragma once

#include <string>
#include <string_view>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/net/http/http_response_reader.h"
#include "muster/runtime/fd.h"

namespace muster::net {

/// One HTTP request over a unix socket, and its response as it comes. Not thread-safe.
class UnixHttpExchange {
 public:
  /// Connects and sends.
  [[nodiscard]] static Result<UnixHttpExchange> begin(const std::string& socket_path,
                                                      std::string_view method,
                                                      std::string_view target,
                                                      std::string_view json, TimePoint deadline);

  /// Readable when more has come.
  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] const HttpResponseReader& response() const { return reader_; }

  /// Waits for more of the response; appends what belongs to the body.
  Result<void> receive(std::string& body, TimePoint deadline);

 private:
  explicit UnixHttpExchange(FileDescriptor socket) : socket_(std::move(socket)) {}

  FileDescriptor socket_;
  HttpResponseReader reader_;
};

struct HttpResponse {
  int status = 0;
  std::string body{};
};

/// A request and its whole response.
[[nodiscard]] Result<HttpResponse> unix_http(const std::string& socket_path,
                                             std::string_view method, std::string_view target,
                                             std::string_view json, TimePoint deadline);

}  // namespace muster::net
