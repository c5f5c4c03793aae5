#include "muster/comm/collective/algorithm/builder.h"

#include <algorithm>

namespace muster::comm::collective {
namespace {

// Long enough that the cost per message does not count, short enough to stay in the cache of one
// core.
constexpr std::size_t kSegmentBytes = std::size_t{256} << 10;
// Per message of an algorithm; with n ranks a call has a few n times as many, and slots count 2^16.
constexpr std::size_t kMostSegments = 64;

// Scratch begins at whole cache lines.
constexpr std::size_t kAlignment = 64;

}  // namespace

Region Builder::scratch(std::size_t bytes) {
  const std::size_t at = (schedule_.scratch_bytes + kAlignment - 1) / kAlignment * kAlignment;
  schedule_.scratch_bytes = at + bytes;
  return {Space::scratch, at, bytes};
}

void Builder::embed(const Schedule& part, const std::vector<int>& ranks, const Region& input,
                    const Region& output) {
  const Region own = scratch(part.scratch_bytes);
  const auto moved = [&](const Region& region) {
    const Region& base = region.space == Space::input    ? input
                         : region.space == Space::output ? output
                                                         : own;
    return Region{base.space, base.offset + region.offset, region.bytes};
  };
  const auto moved_all = [&](std::vector<Local>& locals) {
    for (Local& local : locals) {
      local.into = moved(local.into);
      local.left = moved(local.left);
      local.right = moved(local.right);
    }
  };
  for (Round round : part.rounds) {
    for (Send& send : round.sends)
      send = {ranks[static_cast<std::size_t>(send.to)], moved(send.data)};
    for (Receive& receive : round.receives)
      receive = {ranks[static_cast<std::size_t>(receive.from)], moved(receive.into)};
    moved_all(round.meanwhile);
    moved_all(round.then);
    schedule_.rounds.push_back(std::move(round));
  }
}

std::vector<Region> segments(const Region& region, std::size_t parts, std::size_t item_size) {
  const Blocks blocks = Blocks::split(region.bytes / item_size, parts, item_size);
  std::vector<Region> result;
  for (std::size_t i = 0; i < parts; ++i)
    result.push_back(region.part(blocks.start(i), blocks.bytes(i)));
  return result;
}

std::size_t segment_count(std::size_t bytes) {
  return std::clamp((bytes + kSegmentBytes - 1) / kSegmentBytes, std::size_t{1}, kMostSegments);
}

}  // namespace muster::comm::collective
