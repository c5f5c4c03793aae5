#include "muster/cluster/control/job_state.h"

namespace muster::cluster {

InstanceState* JobState::instance(std::string_view name) {
  for (InstanceState& each : instances) {
    if (each.name() == name) return &each;
  }
  return nullptr;
}

std::vector<InstanceState> fresh_instances(const JobSpec& spec) {
  std::vector<InstanceState> instances;
  instances.reserve(spec.instances());
  for (const ComponentSpec& component : spec.components) {
    for (std::uint32_t index = 0; index < component.num; ++index) {
      instances.push_back({.component = component.name, .index = index});
    }
  }
  return instances;
}

std::string_view name_of(InstancePhase phase) {
  switch (phase) {
    case InstancePhase::waiting: return "waiting";
    case InstancePhase::running: return "running";
    case InstancePhase::backing_off: return "restarting";
    case InstancePhase::succeeded: return "succeeded";
    case InstancePhase::failed: return "failed";
    case InstancePhase::stopped: return "stopped";
  }
  return "unknown";
}

std::string_view name_of(JobPhase phase) {
  switch (phase) {
    case JobPhase::pending: return "pending";
    case JobPhase::running: return "running";
    case JobPhase::succeeded: return "succeeded";
    case JobPhase::failed: return "failed";
    case JobPhase::stopped: return "stopped";
  }
  return "unknown";
}

}  // namespace muster::cluster
