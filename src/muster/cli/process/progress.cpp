#include "muster/cli/process/progress.h"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <signal.h>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/process/job_text.h"
#include "muster/cli/process/progress_lines.h"
#include "muster/cluster/errc.h"
#include "muster/runtime/signals.h"

namespace muster::cli {
namespace {

using cluster::JobState;

constexpr Duration kLookEvery = std::chrono::milliseconds(200);
constexpr Duration kEndTime = std::chrono::seconds(30);
constexpr int kSignalCode = 128;  // as shells have it: 130 after Ctrl-C

// A line that is broken in two at the edge of the terminal could not be written over, so lines are
// cut there instead.
constexpr std::string_view kCutLines = "\033[?7l";
constexpr std::string_view kBreakLines = "\033[?7h";
constexpr std::string_view kClearBelow = "\033[J";

// Writes lines over those written before, or only what changed.
class Display {
 public:
  explicit Display(const Io& io) : io_(io) {}

  void show(const JobState& job) {
    std::vector<std::string> lines = progress_lines(job, io_.colour, room(job));
    if (lines == shown_) return;
    if (io_.colour) {
      if (!shown_.empty()) io_.out << fmt::format("\033[{}A", shown_.size());
      io_.out << kCutLines;
      for (const auto& line : lines) io_.out << "\r\033[K" << line << '\n';
      io_.out << kClearBelow << kBreakLines;
    } else {
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i >= shown_.size() || shown_[i] != lines[i]) io_.out << lines[i] << '\n';
      }
    }
    io_.out << std::flush;
    shown_ = std::move(lines);
  }

 private:
  // Lines that have left the terminal at its top could not be written over either, and the cursor
  // stands below the last. What is shown at the end is not written over.
  [[nodiscard]] std::size_t room(const JobState& job) const {
    const std::size_t rows = io_.colour && io_.rows != nullptr ? io_.rows() : 0;
    return job.final() || rows == 0 ? 0 : std::max<std::size_t>(rows, 2) - 1;
  }

  Io io_;
  std::vector<std::string> shown_;
};

void tell_failure(const JobState& job, const Io& io) {
  if (!job.failure) return;
  report(io, fmt::format("job '{}' failed: {}", job.name(), remark(job)));
  for (const auto& line : job.failure->log) io.err << "  | " << line << '\n';
}

}  // namespace

int follow_job(cluster::ProcessMode& mode, const std::string& name, const Io& io) {
  const auto signals = SignalReader::open({SIGINT, SIGTERM});
  if (!signals) return report(io, signals.error());
  Display display(io);
  for (bool first = true;; first = false) {
    const auto job = mode.job(name);
    if (!job) return report(io, job.error());
    // The agent may not have looked at it yet, and so not have said why it waits.
    const bool unseen = job->phase == cluster::JobPhase::pending && job->reason.empty();
    if (!first || !unseen) display.show(*job);
    if (job->final()) {
      if (job->phase == cluster::JobPhase::failed) tell_failure(*job, io);
      return exit_code(*job);
    }
    mode.wait_for_change(kLookEvery);
    if (const auto number = signals->take()) {
      io.err << fmt::format(
          "\njob '{}' goes on without being watched; 'muster process job stop {}' ends it\n", name,
          name);
      return kSignalCode + *number;
    }
  }
}

int await_end(cluster::ProcessMode& mode, const std::string& name, Until until, const Io& io) {
  const TimePoint deadline = SteadyClock().now() + kEndTime;
  while (SteadyClock().now() < deadline) {
    const auto job = mode.job(name);
    if (!job && job.error().is(cluster::Errc::not_found)) return kDone;
    if (!job) return report(io, job.error());
    if (job->final() && until == Until::over) return kDone;
    mode.wait_for_change(kLookEvery);
  }
  return report(io, fmt::format("job '{}' has not ended yet; it will", name));
}

}  // namespace muster::cli
