#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "muster/base/result.h"

namespace muster::engine {

/// What decides how many bytes of chunks a worker keeps in memory.
struct CacheRequest {
  std::optional<std::uint64_t> size{};  ///< `workerCacheSize` in bytes; wins over the percentage
  std::optional<double> percentage{};   ///< `workerCachePercentage` of `memory`; above 100 is 100
  std::uint64_t memory = 0;             ///< what the worker may use in all
  std::optional<std::uint64_t> room{};  ///< free bytes where the arena will be, if that is known
};

/// The budget in whole pages. Without a size or percentage, half of the memory, and no more than
/// four fifths of the room. What was asked for is never made smaller: too much of it is an error.
[[nodiscard]] Result<std::size_t> cache_budget(const CacheRequest& request);

}  // namespace muster::engine
