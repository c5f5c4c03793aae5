#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/driver/ucx/options.h"

namespace muster::comm {

/// What UCX is told for one driver, over what the environment says: names without "UCX_".
struct UcxPlan {
  std::vector<std::pair<std::string, std::string>> settings;
  bool host_only = true;  ///< nothing listens where other hosts could reach it
};

/// The value of an environment variable, or null.
using EnvironmentLookup = std::function<const char*(const char* name)>;

/// Without a secret UCX gets the loopback device and shared memory only, and asking for another
/// device is `Errc::refused`.
[[nodiscard]] Result<UcxPlan> plan_ucx(const Security& security, const UcxOptions& options,
                                       const EnvironmentLookup& environment);

}  // namespace muster::comm
