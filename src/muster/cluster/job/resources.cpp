#include "muster/cluster/job/resources.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/cluster/job/quantity.h"

namespace muster::cluster {

std::string describe(const Resources& resources) {
  std::vector<std::string> parts;
  if (resources.cpu_milli > 0) {
    parts.push_back(fmt::format("{:g} cpu", static_cast<double>(resources.cpu_milli) / 1000));
  }
  if (resources.memory > 0) parts.push_back(size_text(resources.memory) + " memory");
  if (resources.gpu > 0) parts.push_back(fmt::format("{} gpu", resources.gpu));
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace muster::cluster
