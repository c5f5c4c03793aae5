#include "muster/net/redis/redis_address.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "muster/net/errc.h"

namespace muster::net {
namespace {

tl::unexpected<Error> invalid(std::string_view why) {
  return fail(
      Errc::invalid_address,
      fmt::format("not a Redis address: {}; write redis://[user:password@]host[:port][/db], "
                  "redis+unix:///path?db=0 or host:port",
                  why));
}

template <class Number>
std::optional<Number> number(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<std::string> decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const auto digits = text.substr(i + 1, 2);
    const auto byte = number<unsigned char>(digits, 16);
    if (digits.size() != 2 || !byte)
      return invalid("a '%' is not followed by two hexadecimal digits");
    decoded += static_cast<char>(*byte);
    i += 2;
  }
  if (decoded.find('\0') != std::string::npos) return invalid("it holds a zero byte");
  return decoded;
}

Result<void> read_into(std::string& field, std::string_view text) {
  auto decoded = decode(text);
  if (!decoded) return fail(decoded.error());
  field = *std::move(decoded);
  return {};
}

Result<void> read_db(RedisAddress& address, std::string_view text) {
  const auto db = number<int>(text);
  if (!db || *db < 0) return invalid("the database is not a number from 0");
  address.db = *db;
  return {};
}

Result<void> read_user_and_password(RedisAddress& address, std::string_view text) {
  const auto colon = text.find(':');
  // As in redis-cli, a single word is the password.
  if (colon == std::string_view::npos) return read_into(address.password, text);
  if (auto user = read_into(address.user, text.substr(0, colon)); !user) return user;
  return read_into(address.password, text.substr(colon + 1));
}

Result<void> read_port(RedisAddress& address, std::string_view text) {
  const auto port = number<std::uint16_t>(text);
  if (!port || *port == 0) return invalid("the port is not a number from 1 to 65535");
  address.port = *port;
  return {};
}

Result<void> read_host_and_port(RedisAddress& address, std::string_view text) {
  std::string_view host = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto bracket = text.find(']');
    if (bracket == std::string_view::npos)
      return invalid("the '[' of an IPv6 address is not closed");
    host = text.substr(1, bracket - 1);
    rest = text.substr(bracket + 1);
    if (!rest.empty() && rest.front() != ':')
      return invalid("something other than a port follows the ']'");
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (host.empty()) return invalid("the host is missing");
  if (auto read = read_into(address.host, host); !read) return read;
  return rest.empty() ? Result<void>() : read_port(address, rest.substr(1));
}

Result<RedisAddress> parse_tcp(std::string_view text) {
  RedisAddress address;
  const auto slash = text.find('/');
  std::string_view authority = text.substr(0, slash);
  if (slash != std::string_view::npos && slash + 1 < text.size()) {
    if (auto db = read_db(address, text.substr(slash + 1)); !db) return fail(db.error());
  }
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    if (auto login = read_user_and_password(address, authority.substr(0, at)); !login)
      return fail(login.error());
    authority = authority.substr(at + 1);
  }
  if (auto where = read_host_and_port(address, authority); !where) return fail(where.error());
  return address;
}

Result<void> read_option(RedisAddress& address, std::string_view option) {
  const auto equals = option.find('=');
  const auto key = option.substr(0, equals);
  const auto value =
      equals == std::string_view::npos ? std::string_view() : option.substr(equals + 1);
  if (key == "db") return read_db(address, value);
  if (key == "user") return read_into(address.user, value);
  if (key == "password") return read_into(address.password, value);
  return invalid("after the '?' only db, user and password may stand");
}

Result<RedisAddress> parse_unix(std::string_view text) {
  RedisAddress address;
  const auto question = text.find('?');
  std::string_view path = text.substr(0, question);
  if (const auto at = path.find('@'); at != std::string_view::npos && at < path.find('/')) {
    if (auto login = read_user_and_password(address, path.substr(0, at)); !login)
      return fail(login.error());
    path = path.substr(at + 1);
  }
  if (!path.starts_with('/')) return invalid("the path of the unix socket does not begin with '/'");
  if (auto read = read_into(address.unix_path, path); !read) return fail(read.error());
  auto options =
      question == std::string_view::npos ? std::string_view() : text.substr(question + 1);
  while (!options.empty()) {
    const auto end = std::min(options.find('&'), options.size());
    if (auto read = read_option(address, options.substr(0, end)); !read) return fail(read.error());
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return address;
}

}  // namespace

std::string RedisAddress::description() const {
  if (!unix_path.empty()) return fmt::format("redis+unix://{}?db={}", unix_path, db);
  const bool v6 = host.find(':') != std::string::npos;
  return fmt::format("redis://{}{}{}:{}/{}", v6 ? "[" : "", host, v6 ? "]" : "", port, db);
}

Result<RedisAddress> RedisAddress::parse(std::string_view text) {
  const auto scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) {
    if (text.find(':') == std::string_view::npos || text.find('@') != std::string_view::npos)
      return invalid("it has no scheme");
    return parse_tcp(text);
  }
  const auto scheme = text.substr(0, scheme_end);
  const auto rest = text.substr(scheme_end + 3);
  if (scheme == "redis") return parse_tcp(rest);
  if (scheme == "redis+unix" || scheme == "unix") return parse_unix(rest);
  if (scheme == "rediss") return invalid("TLS (rediss://) is not supported");
  return invalid("the scheme is none of redis, redis+unix and unix");
}

}  // namespace muster::net
