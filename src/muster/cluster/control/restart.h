#pragma once

#include <chrono>
#include <cstdint>

#include "muster/cluster/job/spec.h"
#include "muster/runtime/exit_status.h"

namespace muster::cluster {

// Exit codes with a meaning of their own, whatever the restart policy says.
inline constexpr int kNeverRestart = 64;  ///< this instance is not started again; the others go on
inline constexpr int kEndJob = 65;        ///< the whole job has failed

enum class EndVerdict {
  succeeded,
  restart,
  failed,      ///< this instance only
  failed_job,  ///< everything
};

struct EndDecision {
  EndVerdict verdict = EndVerdict::succeeded;
  std::chrono::milliseconds backoff{0};  ///< before the restart

  bool operator==(const EndDecision&) const = default;
};

/// What follows when an instance has ended that was restarted so often before. A failure that is
/// not mended by a restart fails the job, because the others would wait for it for ever.
[[nodiscard]] EndDecision after_end(const RestartSpec& restart, const ExitStatus& status,
                                    std::uint32_t restarts);

}  // namespace muster::cluster
