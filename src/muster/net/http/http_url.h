#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muster/base/result.h"

namespace muster::net {

/// Where a server is: `http://host:port/prefix`, `https://[::1]/`.
struct HttpUrl {
  bool tls = false;
  std::string host{};       ///< without brackets
  std::uint16_t port = 80;  ///< 443 with TLS, unless given
  std::string prefix{};     ///< empty, or "/a/b": no '/' at the end

  /// For the header Host.
  [[nodiscard]] std::string authority() const;
  [[nodiscard]] std::string text() const;
};

/// `Errc::invalid_address` says what is wrong.
[[nodiscard]] Result<HttpUrl> parse_http_url(std::string_view text);

/// For logs: parts of a path that are longer than any word, such as tickets and tokens, are cut.
[[nodiscard]] std::string without_secrets(std::string_view path);

}  // namespace muster::net
