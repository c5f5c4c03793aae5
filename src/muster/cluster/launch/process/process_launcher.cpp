#include "muster/cluster/launch/process/process_launcher.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/cluster/launch/process/marked_processes.h"
#include "muster/cluster/launch/process/shim_order.h"
#include "muster/cluster/launch/process/shim_program.h"
#include "muster/runtime/cgroup_folder.h"

namespace muster::cluster {
namespace {

// Control groups are folders.
std::string cgroup_name(const LaunchOrder& order) {
  std::string name = "muster-" + order.id;
  std::ranges::replace(name, '/', '-');
  return name;
}

}  // namespace

Result<std::unique_ptr<ProcessLauncher>> ProcessLauncher::create() {
  auto shim = shim_program();
  if (!shim) return fail(shim.error());
  auto epoll = Epoll::create();
  if (!epoll) return fail(epoll.error());
  return std::unique_ptr<ProcessLauncher>(
      new ProcessLauncher(std::move(*epoll), std::move(*shim), CgroupTree::detect()));
}

std::string ProcessLauncher::limits_note() const {
  return cgroups_.why_not().empty() ? std::string()
                                    : "limits are not enforced: " + cgroups_.why_not();
}

Result<SpawnOptions> ProcessLauncher::prepare(const LaunchOrder& order) {
  CgroupLimits limits;
  if (order.limits.cpu_milli > 0) limits.cpus = static_cast<double>(order.limits.cpu_milli) / 1000;
  if (order.limits.memory > 0) limits.memory_bytes = order.limits.memory;
  auto cgroups = cgroups_.create(cgroup_name(order), limits);
  if (!cgroups) return fail(cgroups.error());
  const ShimOrder shim{.folder = order.folder,
                       .log_bytes = std::max<std::uint64_t>(order.logs.max_size, 1),
                       .log_keep = order.logs.keep,
                       .grace = order.grace,
                       .working_dir = order.working_dir,
                       .cgroups = std::move(*cgroups),
                       .command = order.command};
  return SpawnOptions{.program = shim_,
                      .arguments = shim.arguments(),
                      .environment = order.environment,
                      .new_session = true};
}

void ProcessLauncher::sweep(const LaunchOrder& order) {
  kill_marked_processes(fmt::format("MUSTER_ATTEMPT={}", order.id));
  for (const auto& folder : cgroups_.folders(cgroup_name(order))) remove_cgroup(folder);
}

}  // namespace muster::cluster
