#include <chrono>
#include <filesystem>
#include <poll.h>
#include <signal.h>

#include <fmt/format.h>

#include "muster/cluster/control/job_store.h"
#include "muster/cluster/errc.h"
#include "muster/cluster/launch/docker/docker_cleanup.h"
#include "muster/cluster/launch/process/claim.h"
#include "muster/cluster/launch/process/marked_processes.h"
#include "muster/cluster/node/daemon.h"
#include "muster/cluster/node/process_mode.h"
#include "muster/cluster/node/redis_host.h"
#include "muster/runtime/cgroup.h"
#include "muster/runtime/cgroup_folder.h"
#include "muster/runtime/child_process.h"
#include "muster/runtime/unix_socket.h"

namespace muster::cluster {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr Duration kAgentTime = seconds(5);
constexpr Duration kComponentTime = seconds(20);  // more than the grace time of any shim
constexpr Duration kFolderTime = seconds(5);
constexpr int kDeleteAgainMilliseconds = 10;

// Jobs have a folder for each instance, and in it one for each attempt.
std::vector<std::string> attempt_folders(const ClusterLayout& layout) {
  std::vector<std::string> folders;
  std::error_code error;
  for (fs::recursive_directory_iterator place(layout.jobs(), error), end; !error && place != end;
       place.increment(error)) {
    if (place.depth() != 2) continue;
    folders.push_back(place->path().string());
    place.disable_recursion_pending();
  }
  return folders;
}

// True while some shims live.
bool signal_shims(const ClusterLayout& layout, bool first) {
  bool some = false;
  for (const auto& folder : attempt_folders(layout)) {
    const auto claim = read_claim(folder);
    if (!claim || !claim->held || claim->shim == 0) continue;
    some = true;
    const auto shim = watch_process(claim->shim);
    if (first && shim && read_claim(folder)->held) signal_process(*shim, SIGTERM);
  }
  return some;
}

void end_components(const ClusterLayout& layout, const std::string& cluster_id) {
  const TimePoint deadline = SteadyClock().now() + kComponentTime;
  for (bool first = true; signal_shims(layout, first); first = false) {
    if (SteadyClock().now() >= deadline) break;
    ::poll(nullptr, 0, kDeleteAgainMilliseconds);
  }
  kill_marked_processes(fmt::format("MUSTER_ATTEMPT={}/", cluster_id));
}

void remove_cgroups(const std::string& cluster_id) {
  for (const auto& parent : CgroupTree::detect().folders("")) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(parent, ignored)) {
      if (entry.path().filename().string().starts_with("muster-" + cluster_id))
        remove_cgroup(entry.path().string());
    }
  }
}

// A process that was killed a moment ago may make one more file while the folder is emptied.
Result<void> remove_folder(const std::string& folder) {
  const TimePoint deadline = SteadyClock().now() + kFolderTime;
  for (;;) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (!error) return {};
    if (error != std::errc::directory_not_empty || SteadyClock().now() >= deadline)
      return fail(system_error(error.value(), fmt::format("remove '{}'", folder)));
    ::poll(nullptr, 0, kDeleteAgainMilliseconds);
  }
}

}  // namespace

Result<void> delete_process_mode(const ClusterLayout& layout) {
  // Without settings no agent starts any more. A deletion that was interrupted goes on.
  const std::string marker = layout.root + "/deleting.json";
  std::error_code error;
  auto settings = load_settings(layout);
  if (settings) {
    fs::copy_file(layout.settings(), marker, fs::copy_options::overwrite_existing, error);
    fs::remove(layout.settings(), error);
  } else if (fs::exists(marker)) {
    fs::copy_file(marker, layout.settings(), error);
    settings = load_settings(layout);
    fs::remove(layout.settings(), error);
  }
  if (!settings) return fail(settings.error());
  if (auto stopped = stop_agent(layout, SteadyClock().now() + kAgentTime); !stopped) return stopped;
  end_components(layout, settings->cluster_id);
  remove_containers(settings->cluster_id);
  remove_cgroups(settings->cluster_id);
  if (!settings->own_redis) {
    (void)JobStore(settings->redis_address(layout), settings->cluster_id).clear();
  }
  RedisHost(layout, *settings).stop();
  if (auto removed = remove_folder(layout.root); !removed) return removed;
  // The folder of clusters, where this was the only one, and the one around it if that is ours.
  const fs::path clusters = fs::path(layout.root).parent_path();
  fs::remove(clusters, error);
  if (clusters.parent_path().filename() == kHomeFolder) fs::remove(clusters.parent_path(), error);
  return {};
}

}  // namespace muster::cluster
