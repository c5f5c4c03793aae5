#include "muster/cluster/job/fields.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "muster/base/suggest.h"
#include "muster/cluster/job/quantity.h"
#include "muster/cluster/job/words.h"

namespace muster::cluster {
namespace {

using Kind = Shape::Kind;

constexpr std::string_view kModes[] = {
    "process", "grass", "grass/on-premises", "grass/azure", "grass/local", "k8s", "k8s/aks"};
constexpr std::string_view kAllocationModes[] = {"single-metric-balanced",
                                                 "single-metric-compacted"};
constexpr std::string_view kMetrics[] = {"cpu", "memory", "gpu"};
constexpr std::string_view kRestartPolicies[] = {"never", "on-failure", "always"};
constexpr std::string_view kDependsUntil[] = {"started", "succeeded"};

// A container cannot start in less; a smaller number has lost its unit.
constexpr std::uint64_t kLeastMemory = 1 << 20;
constexpr std::uint64_t kLeastLog = 1 << 10;

constexpr std::size_t kMaxComponents = 1000;

constexpr std::array<std::string_view, 8> kOurVariables = {
    "CLUSTER_NAME", "NODE_NAME",      "JOB_ID",          "JOB_NAME",
    "COMPONENT_ID", "COMPONENT_TYPE", "COMPONENT_INDEX", "COMPONENT_NAME"};

/// Puts what was read where it belongs, if something was.
template <class From, class To>
void put(std::optional<From> from, To& to) {
  if (from) to = static_cast<To>(std::move(*from));
}

void read_size(const Field& field, std::uint64_t least, std::uint64_t& to) {
  const auto size = field.size();
  if (!size) return;
  if (*size < least) {
    field.complain(
        fmt::format("{} is less than {}; a number without a unit is in bytes, with one "
                    "it looks like '512m'",
                    size_text(*size), size_text(least)));
  }
  to = *size;
}

constexpr FieldRow<Resources> kResourceFields[] = {
    {{"cpu",
      {.kind = Kind::cpu},
      "Cores of one instance, reserved and, where possible, enforced",
      "0"},
     [](const Field& field, Resources& to) { put(field.cpu(), to.cpu_milli); }},
    {{"memory",
      {.kind = Kind::size},
      "Memory of one instance, reserved and enforced likewise",
      "0"},
     [](const Field& field, Resources& to) {
       const bool none = field.value().text == "0";
       read_size(field, none ? 0 : kLeastMemory, to.memory);
     }},
    {{"gpu",
      {.kind = Kind::whole, .min = 0, .max = 1024},
      "GPUs of one instance; it sees no others",
      "0"},
     [](const Field& field, Resources& to) { put(field.whole(), to.gpu); }},
};

constexpr FieldRow<RestartSpec> kRestartFields[] = {
    {{"policy",
      {.kind = Kind::choice, .choices = kRestartPolicies},
      "When an instance that has ended is started again; exit status 64 never is, 65 ends the job",
      "never"},
     [](const Field& field, RestartSpec& to) { put(field.choice(), to.policy); }},
    {{"max",
      {.kind = Kind::whole, .min = 0, .max = 1'000'000},
      "How often one instance is started again in all",
      "5"},
     [](const Field& field, RestartSpec& to) { put(field.whole(), to.max); }},
    {{"backoff",
      {.kind = Kind::time, .min = 0},
      "Wait before the first restart; each further one waits twice as long",
      "1s"},
     [](const Field& field, RestartSpec& to) { put(field.time(), to.backoff); }},
};

constexpr FieldRow<LogSpec> kLogFields[] = {
    {{"max_size",
      {.kind = Kind::size},
      "Size at which a log file is put aside for a new one",
      "10m"},
     [](const Field& field, LogSpec& to) { read_size(field, kLeastLog, to.max_size); }},
    {{"keep",
      {.kind = Kind::whole, .min = 0, .max = 1000},
      "How many files put aside are kept",
      "3"},
     [](const Field& field, LogSpec& to) { put(field.whole(), to.keep); }},
};

/// `target: /host:/container` is how the predecessor names a source.
void read_mount_target(const Field& field, MountSpec& to) {
  const auto text = field.path_text();
  if (!text) return;
  const std::size_t colon = text->find(':');
  to.target = *text;
  if (colon == std::string::npos) return;
  to.source = text->substr(0, colon);
  to.target = text->substr(colon + 1);
  if (!to.target.starts_with('/')) field.refuse();
}

constexpr FieldRow<MountSpec> kMountFields[] = {
    {{"target",
      {.kind = Kind::path},
      "Where the component finds the folder; '/host/folder:/target' names the source too",
      "",
      true},
     read_mount_target},
    {{"source", {.kind = Kind::path}, "Folder of the host", "the cluster's data share"},
     [](const Field& field, MountSpec& to) { put(field.path_text(), to.source); }},
    {{"read_only", {.kind = Kind::flag}, "Whether the component may only read it", "false"},
     [](const Field& field, MountSpec& to) { put(field.flag(), to.read_only); }},
};

constexpr FieldRow<Allocation> kAllocationFields[] = {
    {{"mode",
      {.kind = Kind::choice, .choices = kAllocationModes},
      "Whether instances go where most is free, or where least is",
      "single-metric-balanced"},
     [](const Field& field, Allocation& to) { put(field.choice(), to.mode); }},
    {{"metric", {.kind = Kind::choice, .choices = kMetrics}, "Of which resource", "cpu"},
     [](const Field& field, Allocation& to) { put(field.choice(), to.metric); }},
};

void read_command(const Field& field, ComponentSpec& to) {
  const Value& value = field.value();
  if (value.kind != Value::Kind::list) {
    // Split once it is known whether a shell is wanted.
    if (auto text = field.text()) to.command = {std::move(*text)};
    return;
  }
  if (to.shell) field.complain("for a shell it has to be one text, not a list");
  for (const Value& item : value.items) {
    const Field word = field.inner(fmt::format("{}", to.command.size()), item, {});
    const bool text = item.kind == Value::Kind::scalar;
    if (!text || item.text.find('\0') != std::string::npos) word.refuse();
    to.command.push_back(item.text);
  }
  if (to.command.empty() || to.command.front().empty()) {
    field.complain("the first item has to be a program");
  }
}

void read_command_line(const Field& field, ComponentSpec& to) {
  to.command.clear();
  read_command(field, to);
  if (field.value().kind == Value::Kind::list || to.shell || to.command.empty()) return;
  auto words = split_command(to.command.front());
  if (!words) return field.complain(words.error().message());
  to.command = std::move(*words);
  if (to.command.empty() || to.command.front().empty()) field.complain("names no program");
}

void read_environment(const Field& field, ComponentSpec& to) {
  for (auto& [name, value] : field.variables()) {
    if (std::ranges::find(kOurVariables, name) != kOurVariables.end()) {
      field.complain(fmt::format("'{}' is set by Muster for each instance", name));
    }
    to.env[name] = value;
  }
}

void read_mounts(const Field& field, ComponentSpec& to) {
  const auto add = [&](const Field& at) {
    MountSpec mount;
    read_section<MountSpec>(at, kMountFields, mount);
    to.mounts.push_back(std::move(mount));
  };
  if (field.value().kind != Value::Kind::list) return add(field);
  std::size_t index = 0;
  for (const Value& item : field.value().items) {
    add(field.inner(fmt::format("{}", index++), item, {.kind = Kind::section}));
  }
}

void read_dependencies(const Field& field, ComponentSpec& to) {
  const Value& value = field.value();
  if (value.kind == Value::Kind::scalar || value.kind == Value::Kind::null) return field.refuse();
  for (const Value& item : value.items) {
    const Field name = field.inner(fmt::format("{}", to.depends_on.size()), item, {});
    if (auto text = name.text()) to.depends_on.push_back({std::move(*text)});
  }
  for (const Member& member : value.members) {
    Dependency dependency{member.key};
    put(field.inner(member.key, member.value, {.kind = Kind::choice, .choices = kDependsUntil})
            .choice(),
        dependency.until);
    to.depends_on.push_back(std::move(dependency));
  }
}

void read_working_dir(const Field& field, ComponentSpec& to) {
  put(field.text(), to.working_dir);
  if (to.working_dir.starts_with('~')) field.complain("'~' is not expanded: write it in full");
}
void read_restart(const Field& field, ComponentSpec& to) {
  read_section<RestartSpec>(field, kRestartFields, to.restart);
}
void read_logs(const Field& field, ComponentSpec& to) {
  read_section<LogSpec>(field, kLogFields, to.logs);
}
template <class T>
void read_timeout(const Field& field, T& to) {
  put(field.time(), to.timeout);
}

constexpr Shape kTimeout = {.kind = Kind::time, .min = 1};

// `shell` stands before `command`, which depends on it.
constexpr FieldRow<ComponentSpec> kComponentFields[] = {
    {{"shell", {.kind = Kind::flag}, "Whether 'command' is a text for /bin/sh", "false"},
     [](const Field& field, ComponentSpec& to) { put(field.flag(), to.shell); }},
    {{"command",
      {.kind = Kind::command},
      "What to run: split into words as a shell would, nothing expanded; or a list",
      "",
      true},
     read_command_line},
    {{"num", {.kind = Kind::whole, .min = 1, .max = 100'000}, "How many instances run", "1"},
     [](const Field& field, ComponentSpec& to) { put(field.whole(), to.num); }},
    {{"image", {.kind = Kind::text}, "Container image to run it in", "none: a plain process"},
     [](const Field& field, ComponentSpec& to) { put(field.text(), to.image); }},
    {{"mount", {.kind = Kind::section_list, .section = "mount"}, "Folders that a container sees"},
     read_mounts},
    {{"resources", {.kind = Kind::section, .section = "resources"}, "What one instance takes"},
     [](const Field& field, ComponentSpec& to) {
       read_section<Resources>(field, kResourceFields, to.resources);
     }},
    {{"env", {.kind = Kind::variables}, "Environment variables, added to those of the job"},
     read_environment},
    {{"working_dir",
      {.kind = Kind::text},
      "Folder to run in, relative to that of the description",
      "the folder of the description; in a container, the image's own"},
     read_working_dir},
    {{"restart", {.kind = Kind::section, .section = "restart"}, "What happens when it ends"},
     read_restart},
    {{"depends_on",
      {.kind = Kind::dependencies, .choices = kDependsUntil},
      "Components that start before it; as a map, 'succeeded' waits for their end"},
     read_dependencies},
    {{"timeout", kTimeout, "How long an instance may run before it is stopped as failed",
      "for ever"},
     read_timeout<ComponentSpec>},
    {{"logs", {.kind = Kind::section, .section = "logs"}, "How its output is kept"}, read_logs},
};

void read_components(const Field& field, Draft& to) {
  const Value* map = field.map();
  if (map == nullptr) return;
  if (map->members.empty()) field.complain("a job needs at least one component");
  if (map->members.size() > kMaxComponents) {
    return field.complain(
        fmt::format("more than {} components; 'num' says how many instances of "
                    "one there are",
                    kMaxComponents));
  }
  for (const Member& member : map->members) {
    const Field inner = field.inner(member.key, member.value, {.kind = Kind::section});
    if (!is_component_name(member.key)) {
      inner.complain(member.line,
                     "a component's name is made of letters, digits, '-' and '_', "
                     "beginning with a letter or digit, at most 63 characters");
    }
    ComponentSpec component = to.defaults;
    component.name = member.key;
    read_section(inner, component_fields(), component);
    to.job.components.push_back(std::move(component));
  }
}

void read_job_names(const Field& field, Draft& to) {
  to.job_names = field.names();
  to.schedule = true;
}

constexpr FieldRow<Draft> kJobFields[] = {
    {{"mode", {.kind = Kind::choice, .choices = kModes}, "What the job runs on", "process"},
     [](const Field& field, Draft& to) {
       if (const auto choice = field.choice()) to.job.mode = kModes[*choice];
     }},
    {{"name", {.kind = Kind::name}, "Name of the job or schedule", "", true},
     [](const Field& field, Draft& to) { put(field.name(), to.job.name); }},
    {{"job_names",
      {.kind = Kind::names},
      "Makes it a schedule: these jobs, which differ in nothing but their names"},
     read_job_names},
    {{"allocation",
      {.kind = Kind::section, .section = "allocation"},
      "How instances are spread over nodes"},
     [](const Field& field, Draft& to) {
       read_section<Allocation>(field, kAllocationFields, to.job.allocation);
     }},
    {{"priority",
      {.kind = Kind::whole, .min = -1000, .max = 1000},
      "Higher goes first; a level is worth a minute of waiting",
      "0"},
     [](const Field& field, Draft& to) { put(field.whole(), to.job.priority); }},
    {{"labels", {.kind = Kind::labels}, "Texts for people and programs to find the job by"},
     [](const Field& field, Draft& to) { to.job.labels = field.labels(); }},
    {{"timeout", kTimeout, "How long the job may run before it is stopped as failed", "for ever"},
     [](const Field& field, Draft& to) { read_timeout(field, to.job); }},
    {{"env", {.kind = Kind::variables}, "Environment variables of all components"},
     [](const Field& field, Draft& to) { read_environment(field, to.defaults); }},
    {{"working_dir",
      {.kind = Kind::text},
      "Folder that all components run in, likewise",
      "the folder of the description; in a container, the image's own"},
     [](const Field& field, Draft& to) { read_working_dir(field, to.defaults); }},
    {{"restart",
      {.kind = Kind::section, .section = "restart"},
      "What happens when instances end, for components that do not say it"},
     [](const Field& field, Draft& to) { read_restart(field, to.defaults); }},
    {{"logs",
      {.kind = Kind::section, .section = "logs"},
      "How output is kept, for components that do not say it"},
     [](const Field& field, Draft& to) { read_logs(field, to.defaults); }},
    {{"components",
      {.kind = Kind::sections, .section = "component"},
      "What the job is made of, by name",
      "",
      true},
     read_components},
};

template <class T>
SectionInfo section(std::string_view name, std::string_view summary,
                    std::span<const FieldRow<T>> rows) {
  SectionInfo info{name, summary, {}};
  for (const FieldRow<T>& row : rows) info.fields.push_back(row.info);
  return info;
}

}  // namespace

std::span<const FieldRow<Draft>> job_fields() { return kJobFields; }
std::span<const FieldRow<ComponentSpec>> component_fields() { return kComponentFields; }

std::vector<SectionInfo> sections() {
  return {
      section<Draft>("job", "A job, or with job_names several", kJobFields),
      section<ComponentSpec>("component", "One kind of component", kComponentFields),
      section<Resources>("resources", "What one instance takes", kResourceFields),
      section<RestartSpec>("restart", "What happens when an instance ends", kRestartFields),
      section<LogSpec>("logs", "How output is kept", kLogFields),
      section<MountSpec>("mount", "A folder that a container sees", kMountFields),
      section<Allocation>("allocation", "How instances are spread over nodes", kAllocationFields),
  };
}

}  // namespace muster::cluster
