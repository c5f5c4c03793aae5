#include "muster/cli/engine/worker_options.h"

#include <filesystem>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/failure.h"
#include "muster/cluster/job/quantity.h"
#include "muster/engine/storage/budget.h"
#include "muster/runtime/resources.h"

namespace muster::cli {
namespace {

constexpr std::uint64_t kLeastPythonMemory = std::uint64_t{128} << 20;

std::uint64_t memory_of(const WorkerFlags& flags, const RoleEnvironment& environment) {
  if (flags.memory.empty()) return environment.memory != 0 ? environment.memory : usable_memory();
  const auto memory = parse_cache_size(flags.memory);
  if (!memory)
    throw UsageError(
        fmt::format("--memory '{}' is not a size (8g) or a share (50%)", flags.memory));
  if (memory->bytes) return *memory->bytes;
  return static_cast<std::uint64_t>(static_cast<double>(usable_memory()) *
                                    std::min(*memory->percentage, 100.0) / 100);
}

CacheSize cache_of(const WorkerFlags& flags, const RoleEnvironment& environment) {
  if (flags.cache.empty()) return environment.cache;
  const auto cache = parse_cache_size(flags.cache);
  if (!cache)
    throw UsageError(
        fmt::format("--cache '{}' is not a size (4g) or a share of the memory (45%)", flags.cache));
  return *cache;
}

std::size_t python_memory_of(const WorkerFlags& flags) {
  if (flags.python_memory.empty()) return 0;
  const auto memory = parse_cache_size(flags.python_memory);
  if (!memory)
    throw UsageError(fmt::format("--python-memory '{}' is not a size (2g) or a share (10%)",
                                 flags.python_memory));
  const auto bytes = memory->bytes
                         ? *memory->bytes
                         : static_cast<std::uint64_t>(static_cast<double>(usable_memory()) *
                                                      std::min(*memory->percentage, 100.0) / 100);
  if (bytes < kLeastPythonMemory)
    throw UsageError(
        fmt::format("--python-memory '{}' is less than the {} MiB that an interpreter "
                    "with NumPy needs",
                    flags.python_memory, kLeastPythonMemory >> 20));
  return bytes;
}

Duration python_idle_of(const WorkerFlags& flags) {
  if (flags.python_idle == "0") return Duration::zero();
  const auto time = cluster::parse_time(flags.python_idle);
  if (!time || *time < std::chrono::milliseconds(100))
    throw UsageError(fmt::format(
        "--python-idle '{}' is not a time of at least 100ms (10m, 30s), or 0", flags.python_idle));
  return *time;
}

std::optional<std::uint64_t> room_in(const std::string& folder) {
  if (folder.empty()) return std::nullopt;
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error) throw UsageError(fmt::format("--plasma-dir '{}': {}", folder, error.message()));
  return space.available;
}

engine::SpillCompression compression_of(const std::string& name) {
  if (name == "lz4") return engine::SpillCompression::lz4;
  return name == "zstd" ? engine::SpillCompression::zstd : engine::SpillCompression::none;
}

engine::SpillOptions spill_of(const WorkerFlags& flags, const RoleEnvironment& environment) {
  engine::SpillOptions spill;
  for (const std::string& list : flags.spill_dirs) {
    for (std::string& folder : parse_folders(list)) spill.directories.push_back(std::move(folder));
  }
  if (spill.directories.empty()) spill.directories = environment.spill_dirs;
  spill.io_parallelism = flags.io_parallelism;
  spill.lock_free_file_io = flags.lock_free_io || environment.lock_free_io.value_or(false);
  spill.compression = compression_of(flags.compression);
  return spill;
}

}  // namespace

void add_worker_flags(CLI::App& parser, WorkerFlags& flags) {
  add_role_flags(parser, flags.role, NeedsScheduler::yes);
  parser.add_option("--name", flags.name, "Its name in the cluster; made up if not given")
      ->type_name("NAME");
  parser
      .add_option("--cpu,--cpu-procs,--n-cpu", flags.threads,
                  "Threads that compute; one for each processor if not given")
      ->type_name("N");
  parser
      .add_option("--memory,--phy-mem,--mem-bytes", flags.memory,
                  "What it may use in all; what the machine has if not given")
      ->type_name("SIZE|PERCENT");
  parser
      .add_option("--cache,--cache-mem", flags.cache,
                  "How much of it holds chunks; half if not given")
      ->type_name("SIZE|PERCENT");
  parser
      .add_option("--spill-dir,--spill-dirs", flags.spill_dirs,
                  "Where chunks go when the cache is full; may be repeated, or several separated "
                  "by ',' or ':'")
      ->type_name("DIR")
      ->allow_extra_args(false);
  parser
      .add_option("--plasma-dir", flags.plasma_dir,
                  "A folder in memory (/dev/shm) for the cache; anonymous memory if not given")
      ->type_name("DIR");
  parser
      .add_option("--io-parallel-num", flags.io_parallelism,
                  "Files that are read and written in one spill folder at a time")
      ->check(CLI::Range(1u, 1024u).description(""))
      ->type_name("N")
      ->capture_default_str();
  parser.add_flag("--lock-free-io", flags.lock_free_io, "As many files at a time as there are");
  parser.add_option("--disk-compression", flags.compression, "How spilled chunks are written")
      ->check(CLI::IsMember({"none", "lz4", "zstd"}).description(""))
      ->type_name("none|lz4|zstd")
      ->capture_default_str();
  parser.add_option("--net-procs", flags.fetches, "Transfers from other workers at a time")
      ->check(CLI::Range(1u, 1024u).description(""))
      ->type_name("N")
      ->capture_default_str();
  parser
      .add_option("--python", flags.python,
                  "The interpreter that runs Python functions; python3 if not given")
      ->type_name("FILE");
  parser
      .add_option("--python-processes", flags.python_processes,
                  "How many of them; as many as threads if not given")
      ->type_name("N");
  parser
      .add_option("--python-memory", flags.python_memory,
                  "What each of them may use beside the cache; no limit if not given")
      ->type_name("SIZE|PERCENT");
  parser
      .add_option("--python-idle", flags.python_idle,
                  "How long one stays that has nothing to do; 0 for ever")
      ->type_name("TIME")
      ->capture_default_str();
  parser.add_option("--metrics-port", flags.metrics_port, "Serve Prometheus metrics there")
      ->type_name("PORT");
}

service::WorkerOptions worker_options(const WorkerFlags& flags,
                                      const RoleEnvironment& environment) {
  service::WorkerOptions options;
  options.role = role_options(flags.role, environment, NeedsScheduler::yes);
  options.name = flags.name.empty() ? environment.name : flags.name;
  options.threads = flags.threads != 0 ? flags.threads : environment.cpus;
  options.store.place = flags.plasma_dir.empty() ? environment.plasma_dir : flags.plasma_dir;
  const CacheSize cache = cache_of(flags, environment);
  const auto budget = engine::cache_budget({.size = cache.bytes,
                                            .percentage = cache.percentage,
                                            .memory = memory_of(flags, environment),
                                            .room = room_in(options.store.place)});
  if (!budget) throw UsageError(fmt::format("--cache: {}", budget.error().message()));
  options.store.budget = *budget;
  options.store.spill = spill_of(flags, environment);
  options.fetches = flags.fetches;
  options.python = flags.python;
  options.python_processes = flags.python_processes;
  options.python_memory = python_memory_of(flags);
  options.python_idle = python_idle_of(flags);
  options.metrics_port = flags.metrics_port;
  return options;
}

}  // namespace muster::cli
