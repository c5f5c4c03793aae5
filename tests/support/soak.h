#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

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

/// A walk through a long list of cases, for scripts/soak: each run goes on where the last one
/// stopped, for about MUSTER_SOAK_SECONDS and at least one case, to the end of the list; the run
/// after that begins anew. Where it stopped stands in a file in MUSTER_SOAK_PROGRESS; without that,
/// every run begins with the first case. A case after which `next` is not called comes again.
class Walk {
 public:
  Walk(const std::string& name, std::size_t cases) : cases_(cases) {
    if (const char* const folder = std::getenv("MUSTER_SOAK_PROGRESS"))
      file_ = std::string(folder) + "/" + name;
    std::string of;
    std::size_t all = 0;
    std::ifstream(file_) >> next_ >> of >> all;
    if (all != cases_ || next_ >= cases_) next_ = 0;  // another list, or all are done
    first_ = next_;
  }

  /// The next case; nothing when time is up, or the list.
  [[nodiscard]] std::optional<std::size_t> next() {
    if (begun_) note_done();
    begun_ = next_ < cases_ && (next_ == first_ || sample_.more());
    return begun_ ? std::optional(next_) : std::nullopt;
  }
  [[nodiscard]] std::string text() const {
    return std::to_string(next_) + " of " + std::to_string(cases_) + " cases";
  }

 private:
  void note_done() {
    ++next_;
    if (!file_.empty()) std::ofstream(file_) << text() << "\n";
  }

  std::size_t cases_;
  std::string file_;
  std::size_t first_ = 0;
  std::size_t next_ = 0;
  bool begun_ = false;
  Sample sample_{1};
};

}  // namespace muster::test
