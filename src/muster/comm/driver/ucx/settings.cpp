#include "muster/comm/driver/ucx/settings.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

struct Preference {
  const char* name;
  const char* value;
  std::initializer_list<std::string_view> transports;  // names for those that know it
};

// Transports where the user has not named any: no shared memory. There, UCX has one queue for all
// senders of a process. A sender that is killed while it fills its place leaves a hole at which the
// receiver waits for ever, and others may crash or hang.
constexpr const char* kTransports = "^sm";

// What else we prefer where the user has not said anything.
const Preference kPreferences[] = {
    // Shared memory whose endpoints can be given up: without this, UCX does not use it for them.
    {"MM_ERROR_HANDLING", "y", {"posix", "shm", "sm", "mm", "all"}},
    // Room for 2 MiB on its way to each process.
    {"MM_FIFO_SIZE", "256", {"posix", "shm", "sm", "mm", "all"}},
    // Else making an endpoint waits for a host that may not answer, with the proxy's lock held.
    {"TCP_CONN_NB", "y", {"tcp", "all"}},
};

std::string setting(const EnvironmentLookup& environment, const std::string& name) {
  const char* const value = environment(("UCX_" + name).c_str());
  return value == nullptr ? "" : value;
}

// UCX warns about settings of transports that it was told not to use.
bool concerns(const Preference& preference, std::string_view transports) {
  const bool all_but = transports.starts_with('^');
  if (all_but) transports.remove_prefix(1);
  bool named = false;
  while (!transports.empty()) {
    const std::size_t end = std::min(transports.find(','), transports.size());
    const std::string_view one = transports.substr(0, end);
    named = named || std::find(preference.transports.begin(), preference.transports.end(), one) !=
                         preference.transports.end();
    transports.remove_prefix(std::min(end + 1, transports.size()));
  }
  return named != all_but;
}

}  // namespace

Result<UcxPlan> plan_ucx(const Security& security, const UcxOptions& options,
                         const EnvironmentLookup& environment) {
  UcxPlan plan;
  plan.host_only = security.secret.empty() && !security.insecure;
  std::string devices = options.devices;
  if (devices.empty()) devices = setting(environment, "NET_DEVICES");
  if (plan.host_only && !devices.empty() && devices != "lo") {
    return fail(Errc::refused,
                fmt::format("ucx may not listen on '{}', which other hosts may reach, without a "
                            "secret: set MUSTER_SECRET, or say 'insecure' to let anybody in",
                            devices));
  }
  if (plan.host_only) devices = "lo";
  if (!devices.empty()) plan.settings.emplace_back("NET_DEVICES", devices);
  std::string transports = options.transports;
  if (transports.empty()) transports = setting(environment, "TLS");
  const bool from_environment = options.transports.empty() && !transports.empty();
  if (transports.empty()) transports = kTransports;
  // UCX reads the environment by itself.
  if (!from_environment) plan.settings.emplace_back("TLS", transports);
  for (const Preference& preference : kPreferences) {
    const bool chosen = !setting(environment, preference.name).empty();
    if (!chosen && concerns(preference, transports))
      plan.settings.emplace_back(preference.name, preference.value);
  }
  return plan;
}

}  // namespace muster::comm
