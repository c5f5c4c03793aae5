#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster::cluster {

/// An attempt to run a component belongs to whoever claims its folder first: the shim, which then
/// starts the program, or an agent that found the folder unclaimed after a crash, which then knows
/// that a shim still on its way will start nothing. The file appears whole, and its owner holds a
/// lock on it for as long as it lives.

/// Takes the claim and returns it, to be kept open; nothing when somebody else has it.
[[nodiscard]] Result<std::optional<FileDescriptor>> take_claim(const std::string& folder,
                                                               std::string_view text);

struct Claim {
  bool held = false;    ///< its owner lives
  pid_t shim = 0;       ///< 0 when no shim claimed it
  pid_t component = 0;  ///< 0 while it has not been started
};
/// The claim of a folder, if there is one.
[[nodiscard]] std::optional<Claim> read_claim(const std::string& folder);

/// What a shim writes when it claims, and adds when the component runs.
[[nodiscard]] std::string shim_claim_text(pid_t shim);
void add_component(const FileDescriptor& claim, pid_t component);

}  // namespace muster::cluster
