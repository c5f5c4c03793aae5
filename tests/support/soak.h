#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace muster::test {

/// Whether this runs under scripts/soak.
[[nodiscard]] inline bool soaks() { return std::getenv("MUSTER_SOAK_SECONDS") != nullptr; }

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

/// The part of a long list of cases that one round of scripts/soak goes through, else none. Rounds
/// have consecutive seeds, so as many of them as there are parts go through all.
class Slice {
 public:
  /// A case takes about so long.
  static constexpr double kCaseSeconds = 5.0;

  Slice(std::size_t cases, std::uint64_t seed) {
    const char* const seconds = std::getenv("MUSTER_SOAK_SECONDS");
    if (seconds == nullptr) return;
    const auto share = static_cast<std::size_t>(std::max(1.0, std::atof(seconds) / kCaseSeconds));
    const std::size_t parts = (cases + share - 1) / share;
    const std::size_t part = parts == 0 ? 0 : seed % parts;
    begin_ = part * share;
    end_ = std::min(cases, begin_ + share);
    std::printf("part %zu of %zu\n", part + 1, parts);
  }

  [[nodiscard]] std::size_t begin() const { return begin_; }
  [[nodiscard]] std::size_t end() const { return end_; }

 private:
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace muster::test
