#include "muster/cli/process/mode.h"

#include "muster/cli/failure.h"

namespace muster::cli {

int with_process_mode(const Io& io, const std::function<int(cluster::ProcessMode&)>& command) {
  const auto layout = cluster::ClusterLayout::of_user();
  if (!layout) return report(io, layout.error());
  auto mode = cluster::ProcessMode::open(*layout);
  if (!mode) return report(io, mode.error());
  return command(*mode);
}

}  // namespace muster::cli
