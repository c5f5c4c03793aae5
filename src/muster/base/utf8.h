#pragma once

#include <cstddef>
#include <string_view>

namespace muster {

/// Where a text stops being UTF-8 as Unicode defines it (no surrogates, no longer forms than
/// needed); its size if it never does.
[[nodiscard]] std::size_t utf8_prefix(std::string_view text);

[[nodiscard]] inline bool is_utf8(std::string_view text) {
  return utf8_prefix(text) == text.size();
}

}  // namespace muster
