#include "muster/net/http/http_url.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "muster/net/errc.h"

namespace muster::net {
namespace {

tl::unexpected<Error> wrong(std::string_view text, std::string_view why) {
  return fail(Errc::invalid_address,
              fmt::format("'{}' {}; expected http://host:port/prefix or https://…", text, why));
}

bool printable(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > 32 && c < 127; });
}

bool read_port(std::string_view text, std::uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return !text.empty() && error == std::errc() && end == text.data() + text.size() && port != 0;
}

// "host:port", "[::1]:port", "host".
bool read_authority(std::string_view text, HttpUrl& url) {
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return false;
    url.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else {
    const auto colon = std::min(text.find(':'), text.size());
    url.host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (url.host.empty()) return false;
  return rest.empty() || (rest.starts_with(':') && read_port(rest.substr(1), url.port));
}

}  // namespace

std::string HttpUrl::authority() const {
  const bool colons = host.find(':') != std::string::npos;
  const std::string name = colons ? '[' + host + ']' : host;
  return port == (tls ? 443 : 80) ? name : fmt::format("{}:{}", name, port);
}

std::string HttpUrl::text() const {
  return fmt::format("{}://{}{}", tls ? "https" : "http", authority(), prefix);
}

Result<HttpUrl> parse_http_url(std::string_view text) {
  HttpUrl url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    url.port = 443;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return wrong(text, "does not begin with http:// or https://");
  }
  if (!printable(rest)) return wrong(text, "has spaces or other characters that need escapes");
  if (rest.find_first_of("?#") != std::string_view::npos)
    return wrong(text, "has a query or a fragment");
  const auto slash = std::min(rest.find('/'), rest.size());
  // The whole text is not repeated: a password stands in it.
  if (rest.substr(0, slash).find('@') != std::string_view::npos)
    return wrong("the URL", "has a user name before the host: give a token instead");
  if (!read_authority(rest.substr(0, slash), url)) return wrong(text, "has no host and port");
  url.prefix = rest.substr(slash);
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  return url;
}

std::string without_secrets(std::string_view path) {
  constexpr std::size_t kWord = 20;
  constexpr std::size_t kShown = 4;
  std::string out;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find_first_of("/?&=", 1));
    path.remove_prefix(part.size());
    if (part.size() <= kWord)
      out += part;
    else
      out.append(part.substr(0, kShown)).append("…");
  }
  return out;
}

}  // namespace muster::net
