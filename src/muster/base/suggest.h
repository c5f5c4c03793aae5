#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The candidate that `text` was probably meant to be, by edit distance; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view text,
                                  const std::vector<std::string>& candidates);

}  // namespace muster
