#include "muster/engine/storage/budget.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "muster/engine/storage/errc.h"

namespace muster::engine {
namespace {

constexpr std::uint64_t kPage = 4096;
// Below this not even the chunks of one small task fit.
constexpr std::uint64_t kSmallest = std::uint64_t{1} << 20;

std::uint64_t part(std::uint64_t whole, double percentage) {
  return static_cast<std::uint64_t>(static_cast<double>(whole) * (percentage / 100));
}

Result<std::uint64_t> wanted(const CacheRequest& request) {
  if (request.size) return *request.size;
  if (request.percentage) {
    if (!(*request.percentage > 0))
      return fail(StorageErrc::invalid,
                  fmt::format("workerCachePercentage is {}: give a number above 0 and up to 100",
                              *request.percentage));
    return part(request.memory, std::min(*request.percentage, 100.0));
  }
  const std::uint64_t half = request.memory / 2;
  return request.room ? std::min(half, part(*request.room, 80)) : half;
}

}  // namespace

Result<std::size_t> cache_budget(const CacheRequest& request) {
  const auto bytes = wanted(request);
  if (!bytes) return fail(bytes.error());
  if (*bytes > request.memory)
    return fail(StorageErrc::invalid,
                fmt::format("workerCacheSize is {} bytes, but the worker may use {} bytes of "
                            "memory in all: lower it or give the worker more",
                            *bytes, request.memory));
  if (request.room && *bytes > *request.room)
    return fail(StorageErrc::no_memory,
                fmt::format("the cache would take {} bytes, but the place of its arena has {} "
                            "bytes free: lower workerCacheSize, or give plasmaStore a larger one",
                            *bytes, *request.room));
  if (*bytes < kSmallest)
    return fail(StorageErrc::invalid,
                fmt::format("a cache of {} bytes is too small: give workerCacheSize {} or more",
                            *bytes, kSmallest));
  return static_cast<std::size_t>(*bytes / kPage * kPage);
}

}  // namespace muster::engine
