#include "muster/cluster/job/draft.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/suggest.h"
#include "muster/cluster/job/fields.h"

namespace muster::cluster {
namespace {

/// Where a field stands, by the keys that lead to it; the last that exists.
std::size_t line_of(const Value& root, std::initializer_list<std::string_view> keys) {
  const Value* value = &root;
  std::size_t line = root.line;
  for (const std::string_view key : keys) {
    const Member* member = value->find(key);
    if (member == nullptr) break;
    line = member->line;
    value = &member->value;
  }
  return line;
}

void check_job_names(const Draft& draft, const Value& root, Problems& problems) {
  std::set<std::string> seen;
  for (const std::string& name : draft.job_names) {
    if (seen.insert(name).second) continue;
    problems.add(line_of(root, {"job_names"}), "job_names",
                 fmt::format("'{}' comes twice; each job needs a name of its own", name));
  }
}

/// The first dependencies that lead in a circle, as "a → b → a"; empty if none do.
std::vector<std::string> circle(const JobSpec& job) {
  std::set<std::string> done;
  std::vector<std::string> trail;
  // As deep as there are components, at most a thousand.
  const auto visit = [&](const auto& self, const ComponentSpec& component) -> bool {
    if (done.contains(component.name)) return false;
    const auto begin = std::ranges::find(trail, component.name);
    const bool closed = begin != trail.end();
    if (closed) trail.erase(trail.begin(), begin);
    trail.push_back(component.name);
    if (closed) return true;
    for (const Dependency& dependency : component.depends_on) {
      const ComponentSpec* next = job.component(dependency.component);
      if (next != nullptr && self(self, *next)) return true;
    }
    trail.pop_back();
    done.insert(component.name);
    return false;
  };
  for (const ComponentSpec& component : job.components) {
    if (visit(visit, component)) return trail;
  }
  return {};
}

void check_dependencies(const JobSpec& job, const Value& root, Problems& problems) {
  std::vector<std::string> names;
  for (const ComponentSpec& component : job.components) names.push_back(component.name);
  for (const ComponentSpec& component : job.components) {
    const std::size_t line = line_of(root, {"components", component.name, "depends_on"});
    const std::string field = fmt::format("components.{}.depends_on", component.name);
    std::set<std::string> seen;
    for (const Dependency& dependency : component.depends_on) {
      if (job.component(dependency.component) == nullptr) {
        problems.add(line, field,
                     fmt::format("there is no component {}{}", quoted_text(dependency.component),
                                 did_you_mean(dependency.component, names)));
      } else if (!seen.insert(dependency.component).second) {
        problems.add(line, field, fmt::format("'{}' comes twice", dependency.component));
      }
    }
  }
  const auto trail = circle(job);
  if (trail.empty()) return;
  problems.add(line_of(root, {"components", trail.front(), "depends_on"}),
               fmt::format("components.{}.depends_on", trail.front()),
               fmt::format("leads in a circle: {}", fmt::join(trail, " → ")));
}

}  // namespace

Spec spec_from(const Value& value, Problems& problems) {
  const Field root(value, {.kind = Shape::Kind::section}, "", problems);
  if (value.kind != Value::Kind::map) {
    root.complain(fmt::format("a job is described by a map with 'name' and 'components', not by {}",
                              value.shown()));
    return JobSpec();
  }
  Draft draft;
  read_section(root, job_fields(), draft);
  check_job_names(draft, value, problems);
  check_dependencies(draft.job, value, problems);
  if (!draft.schedule) return std::move(draft.job);
  ScheduleSpec schedule{draft.job.name, std::move(draft.job_names), std::move(draft.job)};
  return schedule;
}

}  // namespace muster::cluster
