#include "muster/comm/driver/ucx/route.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace muster::comm {
namespace {

// "#   lane[0]:  2:posix/memory.0 md[2]  -> md[2]/posix/sysdev[255] am am_bw#0"
std::string_view transport_of(std::string_view line) {
  if (line.find("lane[") == std::string_view::npos) return {};
  const std::size_t slash = line.find('/');
  if (slash == std::string_view::npos) return {};
  const std::size_t colon = line.rfind(':', slash);
  return colon == std::string_view::npos ? std::string_view{}
                                         : line.substr(colon + 1, slash - colon - 1);
}

}  // namespace

std::string ucx_route(std::string_view printed) {
  std::vector<std::string_view> names;
  while (!printed.empty()) {
    const std::size_t end = std::min(printed.find('\n'), printed.size());
    const std::string_view name = transport_of(printed.substr(0, end));
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
    printed.remove_prefix(std::min(end + 1, printed.size()));
  }
  return fmt::format("{}", fmt::join(names, "+"));
}

}  // namespace muster::comm
