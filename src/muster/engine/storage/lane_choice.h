#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace muster::engine {

/// Which spill directory gets the next file: the one with the fewest bytes waiting, of those that
/// have not refused it already (`tried`); of equals the first from `turn` on, going round. Nothing
/// when all have refused.
[[nodiscard]] std::optional<std::size_t> choose_lane(std::span<const std::size_t> loads,
                                                     const std::vector<bool>& tried,
                                                     std::size_t turn);

}  // namespace muster::engine
