#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "muster/comm/collective/reduction.h"
#include "muster/comm/collective/shared/copy.h"
#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// into = sources[0] ∘ sources[1] ∘ …, and divided if it is a mean. `whole` is how much the call
/// writes in all.
inline void combine(const Task& task, std::byte* into, std::span<const std::byte* const> sources,
                    std::size_t bytes, std::size_t whole) {
  const Call& call = task.call;
  const auto finish = [&](std::byte* items, std::size_t count) {
    if (call.reduction.kind == ReductionKind::mean)
      divide(call.element, items, count, static_cast<std::size_t>(task.ranks));
  };
  if (whole < kStreamFrom) {
    if (sources.size() == 2) {
      reduce(call.reduction, call.element, into, sources[0], sources[1], bytes / task.item);
    } else {
      reduce(call.reduction, call.element, into, sources, bytes / task.item);
    }
    return finish(into, bytes / task.item);
  }
  // In pieces that stay in the first level of cache until they are written past it.
  alignas(64) std::array<std::byte, 4096> piece;
  std::vector<const std::byte*> at(sources.begin(), sources.end());
  for (std::size_t done = 0; done < bytes; done += piece.size()) {
    const std::size_t now = std::min(piece.size(), bytes - done);
    reduce(call.reduction, call.element, piece.data(), at, now / task.item);
    finish(piece.data(), now / task.item);
    copy_in_turns<true>(into + done, piece.data(), now);
    for (const std::byte*& source : at) source += now;
  }
}

}  // namespace muster::comm::collective::shared
