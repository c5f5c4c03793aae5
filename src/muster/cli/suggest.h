#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace muster::cli {

/// The known name that is closest to a mistyped one, or nothing when none is close enough to be
/// meant.
std::optional<std::string_view> suggest(std::string_view typed,
                                        std::span<const std::string_view> known);

}  // namespace muster::cli
