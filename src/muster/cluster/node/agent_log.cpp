#include "muster/cluster/node/agent_log.h"

#include <filesystem>
#include <system_error>

namespace muster::cluster {

namespace fs = std::filesystem;

void trim_agent_log(const ClusterLayout& layout, std::uintmax_t longest) {
  const fs::path log = layout.agent_log();
  std::error_code error;
  const auto bytes = fs::file_size(log, error);
  if (error || bytes <= longest) return;
  fs::copy_file(log, layout.agent_log() + ".1", fs::copy_options::overwrite_existing, error);
  // Also when there was no room for the copy: a full disk is no place for an old log.
  fs::resize_file(log, 0, error);
}

}  // namespace muster::cluster
