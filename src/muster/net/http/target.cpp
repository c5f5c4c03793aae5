#include "muster/net/http/target.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace muster::net {
namespace {

bool unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::optional<char> escaped(std::string_view two) {
  unsigned char value = 0;
  const auto [end, error] = std::from_chars(two.data(), two.data() + two.size(), value, 16);
  if (two.size() != 2 || error != std::errc() || end != two.data() + 2 || value == 0) return {};
  return static_cast<char>(value);
}

bool climbs(std::string_view path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == "..") return true;
    begin = end + 1;
  }
  return false;
}

bool read_query(std::string_view text, HttpRequest& request) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (part.empty()) continue;
    const auto equals = std::min(part.find('='), part.size());
    auto name = percent_decoded(part.substr(0, equals), true);
    auto value = percent_decoded(part.substr(std::min(equals + 1, part.size())), true);
    if (!name || !value) return false;
    request.query.emplace(*std::move(name), *std::move(value));
  }
  return true;
}

// A proxy is asked with the whole URL, and servers must take that too.
std::string_view without_host(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const auto path = target.find_first_of("/?", scheme.size());
    return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
  }
  return target;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const auto c = escaped(text.substr(i + 1, 2));
      if (!c) return {};
      result += *c;
      i += 2;
    } else if (text[i] == '\0') {
      return {};
    } else {
      result += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

std::string percent_encoded(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (unreserved(c)) {
      result += c;
    } else {
      fmt::format_to(std::back_inserter(result), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

bool read_target(std::string_view target, HttpRequest& request) {
  if (target.find('#') != std::string_view::npos) return false;
  target = without_host(target);
  const auto mark = std::min(target.find('?'), target.size());
  auto path = percent_decoded(target.substr(0, mark));
  if (!path) return false;
  if (path->empty() && mark < target.size()) *path = "/";  // "http://host?query"
  if (!path->starts_with('/') || climbs(*path)) return false;
  request.path = *std::move(path);
  request.query_text = target.substr(std::min(mark + 1, target.size()));
  return read_query(request.query_text, request);
}

}  // namespace muster::net
