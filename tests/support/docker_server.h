#pragma once

#include <memory>
#include <string>

#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

namespace muster::test {

/// A real Docker engine of the test's own, in a temporary folder, with one small image. It dies
/// with the test. DOCKER_HOST names it while it lives. Needs dockerd, busybox and root.
class DockerServer {
 public:
  static constexpr char kImage[] = "muster-test:1";

  /// Why there cannot be one here; empty when there can.
  [[nodiscard]] static std::string why_not();

  DockerServer();
  DockerServer(const DockerServer&) = delete;
  DockerServer& operator=(const DockerServer&) = delete;
  ~DockerServer();

 private:
  void await() const;
  void import_image() const;

  TempDir folder_;
  std::unique_ptr<Child> process_;
};

}  // namespace muster::test
