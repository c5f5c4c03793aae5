#include "muster/cluster/launch/process/rank_environment.h"

#include <map>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/runtime/host.h"

namespace muster::cluster {
namespace {

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

}  // namespace

std::vector<std::string> rank_environment(const RankPlace& place) {
  std::vector<std::string> variables{
      fmt::format("MUSTER_RANK={}", place.rank),
      fmt::format("MUSTER_SIZE={}", place.size),
      fmt::format("MUSTER_LOCAL_RANK={}", place.local_rank),
      fmt::format("MUSTER_GROUP={}", place.group),
      "CLUSTER_NAME=local",
      fmt::format("NODE_NAME={}", host_name()),
      fmt::format("JOB_ID={}", place.group),
      fmt::format("JOB_NAME={}", place.group),
      fmt::format("COMPONENT_ID={}.rank_{}", place.group, place.rank),
      "COMPONENT_TYPE=rank",
      fmt::format("COMPONENT_INDEX={}", place.rank),
      fmt::format("COMPONENT_NAME=rank_{}", place.rank),
  };
  if (!place.discovery.empty()) variables.push_back("MUSTER_DISCOVERY=" + place.discovery);
  return variables;
}

std::vector<std::string> merged_environment(std::vector<std::string> base,
                                            const std::vector<std::string>& changes) {
  std::map<std::string, std::size_t, std::less<>> places;
  for (std::size_t i = 0; i < base.size(); ++i) places[std::string(name_of(base[i]))] = i;
  for (const auto& change : changes) {
    const auto [place, added] = places.try_emplace(std::string(name_of(change)), base.size());
    if (added) {
      base.push_back(change);
    } else {
      base[place->second] = change;
    }
  }
  return base;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return variables;
}

}  // namespace muster::cluster
