#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The candidate that `text` was probably meant to be, by edit distance; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view text,
                                  const std::vector<std::string>& candidates);

/// "; did you mean 'actor'?", to end a complaint with; empty when nothing is near.
[[nodiscard]] std::string did_you_mean(std::string_view text,
                                       const std::vector<std::string>& candidates);

}  // namespace muster
