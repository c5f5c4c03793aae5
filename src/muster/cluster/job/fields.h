#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "muster/cluster/job/field.h"
#include "muster/cluster/job/spec.h"

namespace muster::cluster {

/// A whole description while it is read. What stands for all components comes before them.
struct Draft {
  JobSpec job;
  ComponentSpec defaults;
  std::vector<std::string> job_names;
  bool schedule = false;  ///< it has `job_names`
};

std::span<const FieldRow<Draft>> job_fields();
std::span<const FieldRow<ComponentSpec>> component_fields();

/// A map with known keys, by the name that a Shape refers to.
struct SectionInfo {
  std::string_view name;
  std::string_view summary;
  std::vector<FieldInfo> fields;
};

/// All sections; the first is the whole description.
std::vector<SectionInfo> sections();

}  // namespace muster::cluster
