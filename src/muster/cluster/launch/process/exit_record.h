#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "muster/base/result.h"
#include "muster/runtime/exit_status.h"

namespace muster::cluster {

/// How one attempt to run a component ended, as its shim keeps it.
struct ExitRecord {
  ExitStatus status{};
  bool out_of_memory = false;   ///< the kernel killed in its control group
  std::string failure{};        ///< when it did not run: why, in one line
  std::int64_t started_ms = 0;  ///< since 1970
  std::int64_t ended_ms = 0;

  bool operator==(const ExitRecord&) const = default;

  /// "exit code 3", "signal 9 (SIGKILL)", "out of memory (…)", or the failure.
  [[nodiscard]] std::string description() const;

  [[nodiscard]] std::string text() const;
  /// Nothing if it is not whole.
  [[nodiscard]] static std::optional<ExitRecord> parse(std::string_view text);
};

inline constexpr char kExitFile[] = "exit";

/// The record in a folder, if there is one.
[[nodiscard]] std::optional<ExitRecord> read_exit_record(const std::string& folder);

/// Puts a file in its place whole, and so that a crash of the machine does not lose it.
Result<void> write_durably(const std::string& folder, const std::string& name,
                           std::string_view text);

}  // namespace muster::cluster
