#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "muster/base/result.h"
#include "muster/cli/command.h"
#include "muster/cli/engine/environment.h"
#include "muster/service/role.h"

namespace muster::cli {

/// The options that the commands `scheduler`, `worker` and `web` share.
struct RoleFlags {
  std::string host{};
  std::string port{};
  std::string schedulers{};
  std::string driver = "auto";
  std::string lease = "3s";
  std::string patience = "100s";
  std::string log_level{};
  std::string log_file{};
  bool insecure = false;
  std::int64_t parent = 0;  ///< end when this process, which started us, ends
};

enum class NeedsScheduler : bool { no, yes };

void add_role_flags(CLI::App& parser, RoleFlags& flags, NeedsScheduler needs);

/// Flags first, then the environment, then defaults. Throws UsageError for what cannot be.
[[nodiscard]] service::RoleOptions role_options(const RoleFlags& flags,
                                                const RoleEnvironment& environment,
                                                NeedsScheduler needs);

/// The secret that the roles share, and whether to do without.
[[nodiscard]] comm::Security security_from(bool insecure);

/// What `run_role` needs of a service.
struct RunningRole {
  std::string ready{};            ///< "scheduler ready at 127.0.0.1:7103"
  std::function<void()> leave{};  ///< on SIGTERM, before `stop`; may be empty
  std::function<void()> stop{};
  /// Asked about once a second; false ends the command as a failure. May be empty.
  std::function<bool()> alive{};
  std::function<std::string()> why_gone{};  ///< where `alive` is given
};

/// Blocks signals, sees to the log and the parent, starts the role, prints its ready line and
/// waits. SIGTERM leaves and stops, SIGINT stops; a second signal while it leaves stops at once.
int run_role(const RoleFlags& flags, const Io& io,
             const std::function<Result<RunningRole>()>& start);

/// As `read_environment`, but throws UsageError.
[[nodiscard]] RoleEnvironment environment_or_throw();

/// "HOST:PORT", with brackets around an IPv6 address.
[[nodiscard]] std::string place_text(const std::string& host, std::uint16_t port);

}  // namespace muster::cli
