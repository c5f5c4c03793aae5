#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "muster/base/result.h"

namespace muster::cluster {

/// What a shim is to do: which program it parents, where it keeps what it learns about it. It
/// travels as the arguments of the shim; the environment is passed on as it is.
struct ShimOrder {
  /// Where claim, log and exit record go. Without one, output goes where the shim's own goes, and
  /// nothing is recorded.
  std::string folder{};
  std::uint64_t log_bytes = 10u << 20;  ///< after which a new file is begun
  unsigned log_keep = 3;                ///< older files
  /// Between SIGTERM and SIGKILL.
  std::chrono::milliseconds grace = std::chrono::seconds(10);
  std::string working_dir{};           ///< the shim's own when empty
  std::vector<std::string> cgroups{};  ///< folders; removed in the end
  int watch_fd = -1;                   ///< whose end ends the program
  int report_fd = -1;                  ///< gets the exit record, too
  std::vector<std::string> command{};

  bool operator==(const ShimOrder&) const = default;

  [[nodiscard]] std::vector<std::string> arguments() const;
  /// `std::errc::invalid_argument` names the argument that is wrong.
  [[nodiscard]] static Result<ShimOrder> parse(std::span<const char* const> arguments);
};

}  // namespace muster::cluster
