#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/result.h"
#include "muster/cluster/node/layout.h"
#include "muster/net/redis/redis_address.h"

namespace muster::cluster {

/// How process mode runs, under the names that the predecessor gave them.
struct ProcessSettings {
  std::string cluster_id{};  ///< made by `create`; keeps clusters in one Redis apart
  /// A redis-server of ours (`MUSTER`), on a socket in our folder, and on a port of the loopback
  /// device if one is named; or the user's own (`customized`), of which nothing but our keys is
  /// touched.
  bool own_redis = true;
  std::string redis_host = "localhost";
  std::uint16_t redis_port = 0;
  std::string redis_password{};
  std::uint32_t parallel_level = 1;  ///< jobs that run at once
  bool keep_agent_alive = true;      ///< else it ends after `agent_countdown` idle checks
  std::uint32_t agent_countdown = 5;
  std::chrono::milliseconds check_interval = std::chrono::seconds(60);

  bool operator==(const ProcessSettings&) const = default;

  [[nodiscard]] net::RedisAddress redis_address(const ClusterLayout& layout) const;

  /// As keys and values for people: no password, no id.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> shown() const;
};

/// Whether a text says nothing.
[[nodiscard]] bool only_comments(std::string_view text);
/// Reads YAML; keys that are not there keep their defaults. `Errc::invalid_spec` has one line for
/// each problem.
[[nodiscard]] Result<ProcessSettings> read_settings(std::string_view text, const std::string& file);
/// The settings with one of them changed, such as "parallel_level" or "redis_info.port".
[[nodiscard]] Result<ProcessSettings> with_setting(ProcessSettings settings, std::string_view key,
                                                   std::string_view value);

[[nodiscard]] Result<ProcessSettings> load_settings(const ClusterLayout& layout);
Result<void> save_settings(const ClusterLayout& layout, const ProcessSettings& settings);

}  // namespace muster::cluster
