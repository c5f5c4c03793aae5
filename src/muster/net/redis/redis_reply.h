#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::net {

/// What a Redis server answered. Errors are not among them at the top; inside an array they may be.
struct RedisReply {
  enum class Kind { nil, status, text, integer, array, error };

  Kind kind = Kind::nil;
  std::string text;          ///< of status, text and error; any bytes
  std::int64_t integer = 0;  ///< of integer
  std::vector<RedisReply> elements;

  /// The text, if it is one.
  [[nodiscard]] std::optional<std::string_view> as_text() const {
    if (kind != Kind::text && kind != Kind::status) return std::nullopt;
    return text;
  }
};

}  // namespace muster::net
