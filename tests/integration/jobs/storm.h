#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "muster/base/random.h"
#include "tests/support/process_home.h"

namespace muster::test {

struct StormOptions {
  std::uint64_t seed = 1;
  int jobs = 30;
  std::uint32_t parallel_level = 8;
  bool kill_components = false;  ///< then jobs are restarted, and may run more than once
};

/// Jobs come, and agent, Redis or both are killed at random moments. In the end every job has run,
/// each instance exactly once unless it was killed itself, nothing is left running, and the state
/// says so.
class Storm {
 public:
  explicit Storm(const StormOptions& options);
  void run();

 private:
  void submit(int number);
  void strike();
  void kill_a_component();
  /// How often each instance began and ended, by its own account.
  [[nodiscard]] std::map<std::string, int> account(const std::string& what) const;
  void audit();

  const StormOptions options_;
  Random random_;
  ProcessHome home_;
  int strikes_ = 0;
};

}  // namespace muster::test
