#include "muster/cluster/control/restart.h"

#include <algorithm>

namespace muster::cluster {
namespace {

constexpr std::chrono::milliseconds kLongestBackoff = std::chrono::minutes(5);
constexpr std::uint32_t kMostDoublings = 20;  // far beyond the longest, far from overflow

std::chrono::milliseconds backoff(const RestartSpec& restart, std::uint32_t restarts) {
  const auto doubled = std::min(restart.backoff, kLongestBackoff) *
                       (std::int64_t{1} << std::min(restarts, kMostDoublings));
  return std::min<std::chrono::milliseconds>(doubled, kLongestBackoff);
}

}  // namespace

EndDecision after_end(const RestartSpec& restart, const ExitStatus& status,
                      std::uint32_t restarts) {
  if (status.code == kEndJob) return {.verdict = EndVerdict::failed_job};
  if (status.code == kNeverRestart) return {.verdict = EndVerdict::failed};
  const bool wanted = restart.policy == RestartPolicy::always ||
                      (restart.policy == RestartPolicy::on_failure && !status.success());
  if (wanted && restarts < restart.max) {
    return {.verdict = EndVerdict::restart, .backoff = backoff(restart, restarts)};
  }
  return {.verdict = status.success() ? EndVerdict::succeeded : EndVerdict::failed_job};
}

}  // namespace muster::cluster
