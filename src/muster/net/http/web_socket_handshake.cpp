#include "muster/net/http/web_socket_handshake.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "muster/base/random.h"
#include "muster/net/errc.h"
#include "muster/net/http/message_text.h"

namespace muster::net {
namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

std::string base64(std::span<const unsigned char> bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // EVP_EncodeBlock appends a NUL
  text.resize(
      static_cast<std::size_t>(::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                                 bytes.data(), static_cast<int>(bytes.size()))));
  return text;
}

// 16 bytes in base64.
bool is_key(std::string_view key) {
  return key.size() == 24 && key.ends_with("==") &&
         std::ranges::all_of(key.substr(0, 22), [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '+' || c == '/';
         });
}

bool origin_allowed(const HttpRequest& request, const WebSocketOptions& options) {
  const std::string* origin = request.header("Origin");
  if (origin == nullptr) return true;  // a browser always sends it
  if (options.allow_origin) return options.allow_origin(*origin);
  const std::string* host = request.header("Host");
  const auto scheme = origin->find("://");
  return host != nullptr && scheme != std::string::npos &&
         same_name(std::string_view(*origin).substr(scheme + 3), *host);
}

}  // namespace

std::string accept_for_key(std::string_view key) {
  const std::string text = std::string(key).append(kGuid);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha1(), nullptr) != 1)
    throw std::bad_alloc();
  return base64(std::span(digest).first(size));
}

HeaderList ask_handshake() {
  std::array<unsigned char, 16> key{};
  for (std::size_t at = 0; at < key.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t random = secure_random_u64();
    std::memcpy(key.data() + at, &random, sizeof random);
  }
  return {{"Upgrade", "websocket"},
          {"Connection", "Upgrade"},
          {"Sec-WebSocket-Version", "13"},
          {"Sec-WebSocket-Key", base64(key)}};
}

tl::expected<HeaderList, Refusal> answer_handshake(const HttpRequest& request,
                                                   const WebSocketOptions& options) {
  const HeaderList& headers = request.headers;
  if (request.method != "GET" || !header_has_word(headers, "Upgrade", "websocket") ||
      !header_has_word(headers, "Connection", "Upgrade")) {
    return tl::unexpected(Refusal{400, "only web sockets are served here"});
  }
  const std::string* version = request.header("Sec-WebSocket-Version");
  if (version == nullptr || *version != "13")
    return tl::unexpected(Refusal{426, "only version 13 of the web socket is spoken here"});
  const std::string* key = request.header("Sec-WebSocket-Key");
  if (key == nullptr || !is_key(*key))
    return tl::unexpected(Refusal{400, "the Sec-WebSocket-Key is not 16 bytes in base64"});
  if (!origin_allowed(request, options)) {
    return tl::unexpected(
        Refusal{403, fmt::format("pages of '{}' may not connect", *request.header("Origin"))});
  }
  return HeaderList{{"Upgrade", "websocket"},
                    {"Connection", "Upgrade"},
                    {"Sec-WebSocket-Accept", accept_for_key(*key)}};
}

Result<void> check_handshake(const HeaderList& asked, const HttpHead& answer) {
  if (answer.status != 101) {
    const Errc why = answer.status == 401 || answer.status == 403 ? Errc::auth : Errc::server_error;
    return fail(why, fmt::format("the server answered {} {} instead of opening a web socket",
                                 answer.status, reason_of(answer.status)));
  }
  const std::string* key = find_header(asked, "Sec-WebSocket-Key");
  const std::string* accepted = answer.header("Sec-WebSocket-Accept");
  if (key == nullptr || accepted == nullptr || *accepted != accept_for_key(*key) ||
      !header_has_word(answer.headers, "Upgrade", "websocket")) {
    return fail(Errc::protocol, "the server agreed to something other than this web socket");
  }
  return {};
}

}  // namespace muster::net
