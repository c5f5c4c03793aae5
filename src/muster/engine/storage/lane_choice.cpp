#include "muster/engine/storage/lane_choice.h"

namespace muster::engine {

std::optional<std::size_t> choose_lane(std::span<const std::size_t> loads,
                                       const std::vector<bool>& tried, std::size_t turn) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const std::size_t lane = (turn + i) % loads.size();
    if (tried[lane]) continue;
    if (!best || loads[lane] < loads[*best]) best = lane;
  }
  return best;
}

}  // namespace muster::engine
