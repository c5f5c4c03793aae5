#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "muster/base/buffer.h"
#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/engine/errors.h"
#include "muster/net/http/http_client.h"

namespace muster::service {

/// The web role said no. `kind` is the Python exception that it named.
class Refused : public engine::ArrayError {
 public:
  Refused(int status, std::string_view kind, const std::string& message);
  [[nodiscard]] int status() const { return status_; }

 private:
  int status_;
};

struct WebCallsOptions {
  std::string token{};
  std::string tls_ca{};
  Duration timeout = std::chrono::seconds(60);
};

/// Asks the web role, again and again while it or the scheduler is away: everything that a client
/// asks may be asked twice. Failures are ArrayErrors: `Refused` for what was refused, others when
/// nobody answered for the time-out, and `Wrong::cancelled` when `stop` was requested.
/// Thread-safe.
class WebCalls {
 public:
  [[nodiscard]] static Result<WebCalls> make(const std::string& url, WebCallsOptions options);

  /// The JSON of the answer.
  nlohmann::json call(std::string_view method, const std::string& path,
                      std::span<const ByteSpan> body = {}, const std::stop_token& stop = {},
                      Duration answer_within = std::chrono::seconds(30)) const;
  nlohmann::json get(const std::string& path, const std::stop_token& stop = {}) const {
    return call("GET", path, {}, stop);
  }
  nlohmann::json send(std::string_view method, const std::string& path, const nlohmann::json& body,
                      const std::stop_token& stop = {}) const;
  /// Without asking twice.
  Result<net::HttpReply> once(std::string_view method, const std::string& path,
                              Duration answer_within) const;
  /// The body of the answer, about `bytes` long, goes where `room` says. Throws as `call` does.
  void download(const std::string& path, std::size_t bytes, const net::HttpClient::Room& room,
                const std::stop_token& stop) const;

  [[nodiscard]] const std::string& url() const { return client_.url(); }

 private:
  WebCalls(net::HttpClient client, Duration timeout)
      : client_(std::move(client)), timeout_(timeout) {}
  net::HttpReply persist(const std::string& what, const std::stop_token& stop,
                         const std::function<Result<net::HttpReply>()>& attempt) const;

  net::HttpClient client_;
  Duration timeout_;
};

/// How long a transfer may take before it is begun anew: slow networks are waited for, a role that
/// hangs is not.
[[nodiscard]] Duration transfer_time(std::size_t bytes);

/// Sleeps, unless it is woken by a request to stop; true if it was.
bool sleep_unless(const std::stop_token& stop, Duration time);

}  // namespace muster::service
