#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/buffer.h"

namespace muster::net {

/// Names and values in the order of the message. Names are compared without regard to case.
using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// The first value with that name; null if there is none.
[[nodiscard]] const std::string* find_header(const HeaderList& headers, std::string_view name);

/// True if one of the comma-separated words of such a header is `word`, without regard to case.
[[nodiscard]] bool header_has_word(const HeaderList& headers, std::string_view name,
                                   std::string_view word);

/// What a client asked, without the body.
struct HttpRequest {
  std::string method{};
  std::string path{};  ///< percent-decoded; begins with '/', holds neither NUL nor a ".." part
  std::string query_text{};                                      ///< as it came, behind the '?'
  std::multimap<std::string, std::string, std::less<>> query{};  ///< decoded
  HeaderList headers{};
  std::string peer{};  ///< "127.0.0.1:40312"

  [[nodiscard]] const std::string* header(std::string_view name) const {
    return find_header(headers, name);
  }
  /// The first value of that name in the query; null if there is none.
  [[nodiscard]] const std::string* parameter(std::string_view name) const {
    const auto place = query.find(name);
    return place == query.end() ? nullptr : &place->second;
  }
};

/// The beginning of a server's answer.
struct HttpHead {
  int status = 0;
  HeaderList headers{};
  std::optional<std::uint64_t> length{};  ///< of the body, if the server told it

  [[nodiscard]] const std::string* header(std::string_view name) const {
    return find_header(headers, name);
  }
  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
};

/// A server's answer.
struct HttpReply : HttpHead {
  Buffer body{};
};

}  // namespace muster::net
