#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "muster/cli/engine/environment.h"
#include "muster/cli/engine/role.h"
#include "muster/service/role.h"

namespace muster::cli {

struct WorkerFlags {
  RoleFlags role{};
  std::string name{};
  std::size_t threads = 0;
  std::string memory{};
  std::string cache{};
  std::vector<std::string> spill_dirs{};
  std::string plasma_dir{};
  unsigned io_parallelism = 1;
  bool lock_free_io = false;
  std::string compression = "none";
  std::size_t fetches = 4;
  std::string python{};
  std::size_t python_processes = 0;
  std::string python_memory{};
  std::string python_idle = "10m";
  std::uint16_t metrics_port = 0;
};

void add_worker_flags(CLI::App& parser, WorkerFlags& flags);

/// Flags first, then the environment, then what this machine has. Throws UsageError.
[[nodiscard]] service::WorkerOptions worker_options(const WorkerFlags& flags,
                                                    const RoleEnvironment& environment);

}  // namespace muster::cli
