#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muster/base/result.h"

namespace muster::cluster {

/// In the user's home, around the folder of clusters.
inline constexpr std::string_view kHomeFolder = ".muster";

/// Where process mode keeps what it needs: one folder of the user (mode 0700), which `delete`
/// removes.
struct ClusterLayout {
  std::string root{};

  /// `$MUSTER_HOME/clusters/process`, else `~/.muster/clusters/process`.
  [[nodiscard]] static Result<ClusterLayout> of_user();

  [[nodiscard]] std::string settings() const { return root + "/settings.json"; }
  /// Locked by the agent for as long as it lives.
  [[nodiscard]] std::string agent_lock() const { return root + "/agent.lock"; }
  [[nodiscard]] std::string agent_log() const { return root + "/agent.log"; }
  [[nodiscard]] std::string redis() const { return root + "/redis"; }
  [[nodiscard]] std::string redis_socket() const { return root + "/redis/socket"; }
  [[nodiscard]] std::string jobs() const { return root + "/jobs"; }
  [[nodiscard]] std::string job(std::string_view id) const {
    return jobs() + "/" + std::string(id);
  }
  /// Where the components of a job find each other.
  [[nodiscard]] std::string discovery(std::string_view id) const { return job(id) + "/peers"; }
  [[nodiscard]] std::string attempt(std::string_view id, std::string_view instance,
                                    std::uint32_t attempt) const {
    return job(id) + "/" + std::string(instance) + "/" + std::to_string(attempt);
  }
};

/// "job" and 16 random hexadecimal digits.
[[nodiscard]] std::string fresh_id(std::string_view prefix);

}  // namespace muster::cluster
