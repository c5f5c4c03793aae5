#pragma once

#include <string>

namespace muster {

/// How a process ended: with a code, or by a signal.
struct ExitStatus {
  int code = 0;    ///< 0 when a signal ended it
  int signal = 0;  ///< 0 when it ended by itself

  /// From the status of wait(2).
  [[nodiscard]] static ExitStatus from_wait(int status);

  [[nodiscard]] bool success() const { return code == 0 && signal == 0; }
  /// As a shell reports it: 128 and the signal when one ended it.
  [[nodiscard]] int shell_code() const { return signal != 0 ? 128 + signal : code; }
  /// "exit code 3", "signal 9 (SIGKILL)".
  [[nodiscard]] std::string description() const;

  bool operator==(const ExitStatus&) const = default;
};

}  // namespace muster
