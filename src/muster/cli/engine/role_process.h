#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/cli/command.h"
#include "muster/cli/engine/restart_budget.h"
#include "muster/runtime/child_process.h"
#include "muster/runtime/fd.h"

namespace muster::cli {

/// A role that `local-cluster` runs as a child, started again when it dies. Not thread-safe.
class RoleProcess {
 public:
  /// `name` for people ("worker 2"); `arguments` of `muster`.
  RoleProcess(std::string name, std::vector<std::string> arguments)
      : name_(std::move(name)), arguments_(std::move(arguments)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  Result<void> start();
  /// What the ready line says behind "at": HOST:PORT or a URL; empty until it came.
  [[nodiscard]] const std::string& place() const { return place_; }
  /// For the next starts.
  void set_arguments(std::vector<std::string> arguments) { arguments_ = std::move(arguments); }

  /// Readable when it wrote something or ended; -1 for what is not there.
  [[nodiscard]] int output_fd() const { return output_.get(); }
  [[nodiscard]] int end_fd() const { return child_ ? child_->fd() : -1; }
  [[nodiscard]] bool runs() const { return child_.has_value(); }

  /// Takes what it wrote; looks for the ready line.
  void read_output();
  /// How it ended, if it has.
  [[nodiscard]] std::optional<ExitStatus> ended();
  /// When to start it again after it ended; nothing when it dies too often.
  [[nodiscard]] std::optional<TimePoint> plan_restart(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> restart_at() const { return restart_at_; }

  void signal(int number) const;

 private:
  void take_line(const std::string& line);

  std::string name_;
  std::vector<std::string> arguments_;
  std::optional<ChildProcess> child_;
  FileDescriptor output_;
  std::string begun_;  // a line that is not whole
  std::string place_;
  RestartBudget budget_;
  std::optional<TimePoint> restart_at_;
};

}  // namespace muster::cli
