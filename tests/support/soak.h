#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>

namespace muster::test {

/// How many of a large product of cases a test draws: a fixed number, or, under scripts/soak, as
/// many as fit into its share of MUSTER_SOAK_SECONDS.
class Sample {
 public:
  /// `parts`: how many of these the test has.
  explicit Sample(std::size_t cases, int parts = 1) : left_(cases) {
    const char* const seconds = std::getenv("MUSTER_SOAK_SECONDS");
    if (seconds == nullptr) return;
    soaks_ = true;
    until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(std::atof(seconds) / parts));
  }

  [[nodiscard]] bool more() { return soaks_ ? Clock::now() < until_ : left_-- > 0; }

 private:
  using Clock = std::chrono::steady_clock;

  std::size_t left_;
  bool soaks_ = false;
  Clock::time_point until_;
};

}  // namespace muster::test
