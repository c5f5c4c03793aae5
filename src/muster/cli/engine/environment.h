#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"

namespace muster::cli {

/// A size of the cache: bytes, or a share of the worker's memory.
struct CacheSize {
  std::optional<std::uint64_t> bytes{};
  std::optional<double> percentage{};

  bool operator==(const CacheSize&) const = default;
};

/// "4g", "512 MiB", "45%".
[[nodiscard]] std::optional<CacheSize> parse_cache_size(std::string_view text);

/// "/a,/b:/c" in either spelling, without empty ones.
[[nodiscard]] std::vector<std::string> parse_folders(std::string_view text);

/// What a Kubernetes controller tells a role through its environment; flags win over it. Each
/// variable is looked for as MUSTER_… first, then as MARS_…
struct RoleEnvironment {
  std::string host{};        ///< BIND_HOST, CONTAINER_IP
  std::uint16_t port = 0;    ///< BIND_PORT
  std::string schedulers{};  ///< SCHEDULERS, CLUSTER_DETAIL, TASK_DETAIL or K8S_SERVICE_NAME
  std::string name{};        ///< K8S_POD_NAME
  std::size_t cpus = 0;      ///< CPU_TOTAL, or the resources in the detail
  std::uint64_t memory = 0;  ///< MEMORY_TOTAL, or the resources in the detail
  CacheSize cache{};         ///< CACHE_MEM_SIZE, CACHE_MEM_PERCENTAGE
  std::vector<std::string> spill_dirs{};  ///< SPILL_DIRS
  std::string plasma_dir{};               ///< PLASMA_DIRS; the first
  std::optional<bool> lock_free_io{};     ///< LOCK_FREE_FILEIO
};

/// Nothing when the variable is not set.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

/// The failure names the variable, its value and what would be right.
[[nodiscard]] Result<RoleEnvironment> read_environment(const Lookup& lookup);
/// That of this process.
[[nodiscard]] Result<RoleEnvironment> read_environment();

}  // namespace muster::cli
