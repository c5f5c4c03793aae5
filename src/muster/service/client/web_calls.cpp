#include "muster/service/client/web_calls.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include <fmt/format.h>

#include "muster/net/errc.h"
#include "muster/net/http/http_url.h"
#include "muster/service/errc.h"
#include "muster/service/protocol/failure.h"
#include "muster/service/token.h"

namespace muster::service {

namespace {

using namespace std::chrono_literals;
using engine::ArrayError;
using engine::Wrong;
using nlohmann::json;

TimePoint now() { return std::chrono::steady_clock::now(); }

/// The web role or the scheduler behind it is away for a while.
bool is_away(int status) { return status == 502 || status == 503 || status == 504; }

bool is_away(const Error& error) {
  return error.is(net::Errc::unreachable) || error.is(net::Errc::timeout) ||
         error.is(net::Errc::protocol);
}

json parsed(const net::HttpReply& reply) {
  json value = json::parse(reply.body.text(), nullptr, false);
  return value.is_discarded() ? json::object() : value;
}

std::string message_of(const net::HttpReply& reply) {
  const json body = parsed(reply);
  if (body.is_object() && body.contains("error") && body["error"].is_string())
    return body["error"].get<std::string>();
  return fmt::format("status {}", reply.status);
}

/// What is asked for was lost with a worker and is on its way back.
bool is_computed_again(const net::HttpReply& reply) {
  const json body = parsed(reply);
  return body.is_object() && body.contains("waiting");
}

[[noreturn]] void refuse(const net::HttpReply& reply) {
  const json body = parsed(reply);
  const bool named = body.is_object() && body.contains("kind") && body["kind"].is_string();
  throw Refused(reply.status, named ? body["kind"].get<std::string>() : "RuntimeError",
                message_of(reply));
}

/// Without the seals of session tickets ("7.0123…"), which are nobody else's business: errors end
/// up in logs and reports.
std::string without_seals(std::string text) {
  constexpr std::size_t kSeal = 32;
  constexpr std::string_view kHex = "0123456789abcdef";
  for (auto dot = text.find('.'); dot != std::string::npos; dot = text.find('.', dot + 1)) {
    const auto end = std::min(text.find_first_not_of(kHex, dot + 1), text.size());
    if (end - dot == kSeal + 1) text.erase(dot, kSeal + 1);
  }
  return text;
}

[[noreturn]] void stopped() { throw ArrayError(Wrong::cancelled, "the execution was cancelled"); }

}  // namespace

Duration transfer_time(std::size_t bytes) {
  constexpr double kSlowest = 1u << 20;  // bytes per second
  return 30s + std::chrono::duration_cast<Duration>(
                   std::chrono::duration<double>(static_cast<double>(bytes) / kSlowest));
}

bool sleep_unless(const std::stop_token& stop, Duration time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return stop.stop_requested();
}

Refused::Refused(int status, std::string_view kind, const std::string& message)
    : ArrayError(wrong_of(kind), message), status_(status) {}

Result<WebCalls> WebCalls::make(const std::string& url, WebCallsOptions options) {
  const auto address = net::parse_http_url(url);
  if (!address)
    return fail(Errc::invalid, fmt::format("{}; the address of a cluster is like http://host:port",
                                           address.error().message()));
  if (options.token.empty()) options.token = token_for(address->host, address->port);
  auto client = net::HttpClient::make(
      url, {.token = std::move(options.token), .tls_ca = std::move(options.tls_ca)});
  if (!client) return fail(client.error());
  return WebCalls(*std::move(client), options.timeout);
}

net::HttpReply WebCalls::persist(const std::string& what, const std::stop_token& stop,
                                 const std::function<Result<net::HttpReply>()>& attempt) const {
  const TimePoint began = now();
  Duration pause = 20ms;
  while (true) {
    if (stop.stop_requested()) stopped();
    auto reply = attempt();
    if (reply && reply->ok()) return *std::move(reply);
    const bool away = reply ? is_away(reply->status) : is_away(reply.error());
    const std::string why = reply ? message_of(*reply) : reply.error().message();
    if (!away && reply) refuse(*reply);
    if (!away) throw ArrayError(Wrong::other, without_seals(fmt::format("{}: {}", what, why)));
    const Duration patience = reply && is_computed_again(*reply) ? timeout_ * 10 : timeout_;
    if (now() + pause >= began + patience)
      throw ArrayError(Wrong::timeout, without_seals(fmt::format(
                                           "{}: {} did not answer for {:.0f} s: {}", what, url(),
                                           std::chrono::duration<double>(timeout_).count(), why)));
    if (sleep_unless(stop, pause)) stopped();
    pause = std::min<Duration>(pause * 2, 2s);
  }
}

json WebCalls::call(std::string_view method, const std::string& path,
                    std::span<const ByteSpan> body, const std::stop_token& stop,
                    Duration answer_within) const {
  return parsed(persist(fmt::format("{} {}", method, path.substr(0, path.find('?'))), stop, [&] {
    return client_.request(method, path, body, {}, now() + answer_within);
  }));
}

json WebCalls::send(std::string_view method, const std::string& path, const json& body,
                    const std::stop_token& stop) const {
  const std::string text = body.dump();
  const std::array<ByteSpan, 1> spans = {as_bytes(text)};
  return call(method, path, spans, stop);
}

Result<net::HttpReply> WebCalls::once(std::string_view method, const std::string& path,
                                      Duration answer_within) const {
  return client_.request(method, path, {}, {}, now() + answer_within);
}

void WebCalls::download(const std::string& path, std::size_t bytes,
                        const net::HttpClient::Room& room, const std::stop_token& stop) const {
  (void)persist(fmt::format("GET {}", path), stop, [&] {
    return client_.request_into("GET", path, {}, {}, room, now() + transfer_time(bytes));
  });
}

}  // namespace muster::service
