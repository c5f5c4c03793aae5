#include "muster/cluster/job/spec.h"

#include <algorithm>
#include <set>

#include "muster/base/assert.h"

namespace muster::cluster {

std::vector<std::string> ComponentSpec::argv() const {
  if (!shell) return command;
  MUSTER_ASSERT(command.size() == 1, "a shell command is one text");
  return {"/bin/sh", "-c", command.front()};
}

const ComponentSpec* JobSpec::component(std::string_view wanted) const {
  const auto found = std::ranges::find(components, wanted, &ComponentSpec::name);
  return found == components.end() ? nullptr : &*found;
}

std::uint32_t JobSpec::instances() const {
  std::uint32_t sum = 0;
  for (const ComponentSpec& each : components) sum += each.num;
  return sum;
}

std::vector<std::string> JobSpec::start_order() const {
  std::vector<std::string> order;
  std::set<std::string> placed;
  const auto ready = [&](const ComponentSpec& each) {
    return std::ranges::all_of(each.depends_on, [&](const Dependency& dependency) {
      return placed.contains(dependency.component);
    });
  };
  while (order.size() < components.size()) {
    const std::size_t before = order.size();
    for (const ComponentSpec& each : components) {
      if (placed.contains(each.name) || !ready(each)) continue;
      order.push_back(each.name);
      placed.insert(each.name);
    }
    MUSTER_ASSERT(order.size() > before, "a checked job has no cycle of dependencies");
  }
  return order;
}

std::vector<JobSpec> ScheduleSpec::jobs() const {
  std::vector<JobSpec> result;
  for (const std::string& each : job_names) {
    result.push_back(job);
    result.back().name = each;
  }
  return result;
}

}  // namespace muster::cluster
