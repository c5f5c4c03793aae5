#include "muster/cluster/node/component_environment.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/cluster/launch/process/rank_environment.h"

namespace muster::cluster {
namespace {

constexpr std::string_view kCarried[] = {
    "HOME", "LANG",       "LD_LIBRARY_PATH", "LOGNAME",        "MUSTER_LOG_LEVEL",
    "PATH", "PYTHONPATH", "SHELL",           "TERM",           "TMPDIR",
    "TZ",   "USER",       "VIRTUAL_ENV",     "XDG_RUNTIME_DIR"};
constexpr std::string_view kCarriedPrefixes[] = {"LC_", "CONDA_", "OMP_", "UCX_"};

bool carried(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::ranges::find(kCarried, name) != std::end(kCarried) ||
         std::ranges::any_of(kCarriedPrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// "learner:1,actor:4"
std::string peers(const JobSpec& spec) {
  std::vector<std::string> counts;
  for (const auto& component : spec.components)
    counts.push_back(fmt::format("{}:{}", component.name, component.num));
  return fmt::format("{}", fmt::join(counts, ","));
}

}  // namespace

std::vector<std::string> component_environment(const JobState& job, std::size_t position,
                                               const ClusterLayout& layout,
                                               const Machine& machine) {
  const InstanceState& instance = job.instances[position];
  std::vector<std::string> variables{
      fmt::format("CLUSTER_NAME={}", kClusterName),
      fmt::format("NODE_NAME={}", machine.name),
      fmt::format("JOB_ID={}", job.id),
      fmt::format("JOB_NAME={}", job.name()),
      fmt::format("COMPONENT_ID={}.{}", job.id, instance.name()),
      fmt::format("COMPONENT_TYPE={}", instance.component),
      fmt::format("COMPONENT_INDEX={}", instance.index),
      fmt::format("COMPONENT_NAME={}", instance.name()),
      fmt::format("MUSTER_GROUP={}", job.id),
      fmt::format("MUSTER_DISCOVERY=file:{}", layout.discovery(job.id)),
      fmt::format("MUSTER_PEERS={}", peers(job.spec)),
      fmt::format("MUSTER_RANK={}", position),
      fmt::format("MUSTER_LOCAL_RANK={}", position),
      fmt::format("MUSTER_SIZE={}", job.instances.size()),
      fmt::format("MUSTER_RESTARTS={}", instance.restarts),
  };
  if (!machine.gpus.empty()) {
    std::vector<std::string> gpus;
    for (const std::uint32_t gpu : instance.gpus) gpus.push_back(machine.gpus.at(gpu));
    variables.push_back(fmt::format("CUDA_VISIBLE_DEVICES={}", fmt::join(gpus, ",")));
  }
  return variables;
}

std::vector<std::string> carried_environment() {
  std::vector<std::string> variables = own_environment();
  std::erase_if(variables, [](const std::string& variable) { return !carried(variable); });
  return variables;
}

std::string attempt_id(const std::string& cluster_id, const JobState& job,
                       const InstanceState& instance) {
  return fmt::format("{}/{}.{}/{}", cluster_id, job.id, instance.name(), instance.attempt);
}

}  // namespace muster::cluster
