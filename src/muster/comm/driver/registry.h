#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/driver/option_reader.h"

namespace muster::comm {

/// One row per driver, in the order in which `auto` prefers them.
struct DriverRow {
  std::string_view name;
  std::string_view summary;
  /// True when it reaches processes on other hosts.
  bool between_hosts;
  /// True when `auto` may choose it; else it is used when it is named.
  bool automatic;
  /// Whether this build has it.
  bool (*built)();
  Result<std::unique_ptr<Driver>> (*make)(const DriverContext& context,
                                          const DriverOptionTexts& options);
};

[[nodiscard]] std::span<const DriverRow> driver_rows();

/// The drivers of one proxy: all that fit for "auto" (those between hosts only when peers may be
/// elsewhere), else the one named.
[[nodiscard]] Result<std::vector<std::unique_ptr<Driver>>> make_drivers(
    std::string_view name, bool host_only, const DriverContext& context,
    const DriverOptionTexts& options);

}  // namespace muster::comm
