#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "muster/net/http/http_message.h"

namespace muster::net {

/// "%41+b" is "A b" where a plus means a space, as it does in queries, else "A+b". Nothing for
/// escapes that are none, and for a NUL.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text,
                                                         bool plus_is_space = false);

/// Every byte but letters, digits and "-._~" as %XX: safe anywhere in a target.
[[nodiscard]] std::string percent_encoded(std::string_view text);

/// Takes the target of a request ("/a%20b?c=d" or "http://host/a?c") apart into path and query.
/// False if it is none, or if the path has a part "..".
[[nodiscard]] bool read_target(std::string_view target, HttpRequest& request);

}  // namespace muster::net
