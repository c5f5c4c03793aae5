#include "muster/cluster/launch/docker/docker_launcher.h"

#include "muster/cluster/launch/docker/docker_cleanup.h"
#include "muster/cluster/launch/docker/docker_engine.h"
#include "muster/cluster/launch/docker/docker_shim.h"
#include "muster/cluster/launch/process/marked_processes.h"
#include "muster/cluster/launch/process/rank_environment.h"
#include "muster/cluster/launch/process/shim_program.h"

namespace muster::cluster {

Result<std::unique_ptr<DockerLauncher>> DockerLauncher::create() {
  auto epoll = Epoll::create();
  if (!epoll) return fail(epoll.error());
  return std::unique_ptr<DockerLauncher>(new DockerLauncher(std::move(*epoll)));
}

Result<SpawnOptions> DockerLauncher::prepare(const LaunchOrder& order) {
  if (auto written = write_docker_order(order); !written) return fail(written.error());
  return SpawnOptions{
      .program = muster_program(),
      .arguments = {"docker-shim", order.folder},
      .environment = merged_environment(own_environment(), {"MUSTER_ATTEMPT=" + order.id}),
      .new_session = true};
}

void DockerLauncher::sweep(const LaunchOrder& order) {
  kill_marked_processes("MUSTER_ATTEMPT=" + order.id);
  remove_containers(order.id);
}

void remove_containers(std::string_view attempt_prefix) {
  auto engine = DockerEngine::connect();
  if (!engine) return;
  const auto containers = engine->containers();
  if (!containers) return;
  for (const auto& [id, attempt] : *containers) {
    if (attempt.starts_with(attempt_prefix)) (void)engine->remove(id);
  }
}

}  // namespace muster::cluster
