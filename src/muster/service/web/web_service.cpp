#include "muster/service/web/web_service.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/base/random.h"
#include "muster/comm/discovery/file/root.h"
#include "muster/net/http/http_server.h"
#include "muster/net/local_address.h"
#include "muster/service/errc.h"
#include "muster/service/protocol/tags.h"
#include "muster/service/token.h"
#include "muster/service/web/cluster_link.h"
#include "muster/service/web/event_hub.h"
#include "muster/service/web/rest.h"

namespace muster::service {

namespace {

using namespace std::chrono_literals;

struct Token {
  std::string text;
  bool made_up = false;  ///< nobody gave it, so it must be left where clients find it
};

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// What clients must show. On loopback there is always one; elsewhere somebody must give it.
Result<Token> choose_token(const WebOptions& options) {
  if (!options.token.empty()) return Token{options.token};
  if (!options.token_file.empty()) {
    auto token = read_token(options.token_file);
    if (!token) return fail(token.error());
    return Token{*std::move(token)};
  }
  if (std::string token = environment("MUSTER_TOKEN"); !token.empty()) return Token{token};
  std::string secret = options.role.security.secret;
  if (secret.empty()) secret = environment("MUSTER_SECRET");
  if (!secret.empty()) return Token{token_from_secret(secret)};
  if (net::is_loopback(options.role.host)) {
    // One that is started again goes on with what clients know.
    if (options.role.port != 0)
      if (auto token = read_token(token_path(options.role.port)))
        return Token{*std::move(token), true};
    return Token{made_token(), true};
  }
  if (options.role.security.insecure) return Token{};
  return fail(Errc::refused,
              fmt::format("the web role would listen on '{}' without a token: set MUSTER_SECRET, "
                          "MUSTER_TOKEN or a token file, listen on 127.0.0.1, or say 'insecure' to "
                          "let anybody in",
                          options.role.host));
}

/// What the tickets of sessions are sealed with. Not the token: whoever has that could make tickets
/// for the sessions of others. All web roles of a cluster have the same, also those that are
/// started later.
Result<std::string> ticket_key(const WebOptions& options) {
  std::string secret = options.role.security.secret;
  if (secret.empty()) secret = environment("MUSTER_SECRET");
  if (!secret.empty()) return secret;
  return kept_token(comm::file::default_root() / "sessions.key");
}

Result<std::string> checked_prefix(std::string prefix) {
  while (prefix.ends_with('/')) prefix.pop_back();
  if (prefix.empty()) return prefix;
  if (!prefix.starts_with('/')) prefix.insert(prefix.begin(), '/');
  const bool plain = std::all_of(prefix.begin(), prefix.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || std::string_view("/-_.~").find(letter) < 5;
  });
  if (!plain || prefix.find("//") != std::string::npos || prefix.find("/.") != std::string::npos)
    return fail(Errc::invalid,
                fmt::format("the path prefix '{}' is not like '/some/path'", prefix));
  return prefix;
}

comm::ProxyOptions proxy_options() {
  comm::ProxyOptions proxy;
  proxy.type = kWebType;
  // Requests look for another way themselves.
  proxy.rejoin.minimal_peers_timeout = 200ms;
  return proxy;
}

Result<std::optional<net::TlsFiles>> tls_files(const WebOptions& options) {
  if (options.tls_certificate.empty() != options.tls_key.empty())
    return fail(Errc::invalid, "TLS needs both a certificate and a key");
  if (options.tls_certificate.empty()) return std::optional<net::TlsFiles>();
  return std::optional(net::TlsFiles{options.tls_certificate, options.tls_key});
}

}  // namespace

class WebService::Impl {
 public:
  Result<void> start(const WebOptions& options) {
    auto prefix = checked_prefix(options.path_prefix);
    if (!prefix) return fail(prefix.error());
    auto tls = tls_files(options);
    if (!tls) return fail(tls.error());
    auto token = choose_token(options);
    if (!token) return fail(token.error());
    auto key = ticket_key(options);
    if (!key) return fail(key.error());
    auto link =
        ClusterLink::join(options.role, proxy_options(),
                          {[this](std::string_view lines) { publish(lines); },
                           [this](const Ask& ask) {
                             const std::shared_ptr<Rest> rest = rest_.load();
                             return rest ? rest->asked(ask)
                                         : Answer{503, {{"error", "the web role is starting"}}, {}};
                           }});
    if (!link) return fail(link.error());
    link_ = *std::move(link);
    const auto rest =
        std::make_shared<Rest>(RestOptions{*prefix, token->text, *std::move(key)}, *link_, events_);
    rest_ = rest;
    auto server = net::HttpServer::start(
        {.host = options.role.host, .port = options.role.port, .tls = *std::move(tls)},
        [rest](net::HttpExchange& exchange) { rest->handle(exchange); });
    if (!server) return fail(server.error());
    server_ = *std::move(server);
    const bool is_ipv6 = options.role.host.find(':') != std::string::npos;
    url_ = fmt::format("{}://{}:{}{}", options.tls_certificate.empty() ? "http" : "https",
                       is_ipv6 ? fmt::format("[{}]", options.role.host) : options.role.host,
                       server_->port(), *prefix);
    if (auto ok = leave_token(*token, options.role.port != 0); !ok) return ok;
    if (token->text.empty())
      log(LogLevel::warning, "web", "{} lets anybody in: no token is set", url_);
    return {};
  }

  void stop() {
    events_.stop();
    // First, so that requests that wait for others end.
    if (link_) link_->stop();
    if (server_) server_->stop();
    if (!token_file_.empty() && !keep_token_file_) {
      std::error_code ignored;
      std::filesystem::remove(token_file_, ignored);
    }
  }

  ~Impl() { stop(); }

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const std::string& token_file() const { return token_file_; }

 private:
  /// Where clients of this user find it; also so that none finds that of another role which had
  /// the port before.
  Result<void> leave_token(const Token& token, bool port_was_given) {
    const std::filesystem::path path = token_path(server_->port());
    if (token.text.empty()) {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
      return {};
    }
    token_file_ = path.string();
    keep_token_file_ = token.made_up && port_was_given;
    return write_token(path, token.text);
  }

  void publish(std::string_view lines) {
    while (!lines.empty()) {
      const auto end = lines.find('\n');
      if (const std::string_view line = lines.substr(0, end); !line.empty()) events_.publish(line);
      lines = end == std::string_view::npos ? std::string_view() : lines.substr(end + 1);
    }
  }

  EventHub events_;
  std::atomic<std::shared_ptr<Rest>> rest_;  ///< set once; the link's thread looks at it
  std::unique_ptr<ClusterLink> link_;
  std::unique_ptr<net::HttpServer> server_;
  std::string url_;
  std::string token_file_;
  /// One that was made up is found again by the next role at the same port, so clients go on.
  bool keep_token_file_ = false;
};

Result<std::unique_ptr<WebService>> WebService::start(const WebOptions& options) {
  auto impl = std::make_unique<Impl>();
  if (auto ok = impl->start(options); !ok) return fail(ok.error());
  return std::unique_ptr<WebService>(new WebService(std::move(impl)));
}

WebService::WebService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebService::~WebService() = default;
void WebService::stop() { impl_->stop(); }
std::uint16_t WebService::port() const { return impl_->port(); }
std::string WebService::url() const { return impl_->url(); }
const std::string& WebService::token_file() const { return impl_->token_file(); }

}  // namespace muster::service
