#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "muster/cluster/node/process_mode.h"
#include "tests/support/temp_dir.h"

namespace muster::test {

/// Process mode in a folder of the test's own, with a real agent and a real Redis, that is deleted
/// with the object; and the means to hurt it.
class ProcessHome {
 public:
  explicit ProcessHome(cluster::ProcessSettings settings = {});
  ProcessHome(const ProcessHome&) = delete;
  ProcessHome& operator=(const ProcessHome&) = delete;
  ~ProcessHome();

  [[nodiscard]] cluster::ProcessMode& mode() { return *mode_; }
  [[nodiscard]] const cluster::ClusterLayout& layout() const { return layout_; }
  [[nodiscard]] const std::filesystem::path& scratch() const { return scratch_.path(); }
  /// What every component of this cluster has in its environment.
  [[nodiscard]] std::string mark() const;

  void kill_agent() const;
  /// The process that keeps the agent running.
  [[nodiscard]] pid_t supervisor() const;
  void kill_supervisor_and_agent() const;
  void kill_redis() const;

  /// Waits until the job is over, through all accidents; fails the test after a while.
  cluster::JobState await(const std::string& job);

 private:
  TempDir home_;
  TempDir scratch_;
  cluster::ClusterLayout layout_;
  std::unique_ptr<cluster::ProcessMode> mode_;
};

/// A job of one component that runs a shell script.
[[nodiscard]] cluster::JobSpec shell_job(std::string name, std::string script,
                                         std::uint32_t instances = 1);

}  // namespace muster::test
