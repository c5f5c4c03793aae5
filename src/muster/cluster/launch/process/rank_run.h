#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"
#include "muster/cluster/launch/process/exit_record.h"
#include "muster/runtime/output_queue.h"

namespace muster::cluster {

struct RankRunOptions {
  unsigned ranks = 1;
  std::vector<std::string> command{};
  std::vector<std::string> environment{};  ///< "NAME=value", beside our own
  std::string discovery{};  ///< where ranks find each other; a folder of this host when empty
  std::chrono::milliseconds grace = std::chrono::seconds(5);  ///< from SIGTERM to SIGKILL
  bool keep_going = false;  ///< a rank that fails does not end the others
};

enum class RankStream { out, err };

/// What a rank printed, as it comes; an empty piece is the end of the stream. Signals are not heard
/// while it runs: what may take long belongs into an `OutputQueue`.
using RankOutput = std::function<void(unsigned rank, RankStream stream, std::string_view piece)>;

struct RankRunResult {
  int exit_code = 0;  ///< of the rank that failed first, 128 and the signal if one ended it
  std::optional<unsigned> failed_rank{};
  ExitRecord record{};  ///< of that rank
};

/// Runs a program as the ranks of a fresh group on this host until all have ended. When one fails,
/// the others are ended, unless they are to keep going. Signals go to all ranks while it runs:
/// those that end programs (INT, TERM, HUP, QUIT), and USR1, USR2, ALRM, WINCH, TSTP and CONT, but
/// for those that this process ignores.
/// Ranks that were told to end have `grace` for it; a second SIGINT ends them for good. SIGTSTP
/// stops this process as well. Nothing outlives it, however it ends. The failure of the first start
/// is an error. To be called from the main thread.
///
/// Writes what `output` puts into `queues`, too: one for both streams, or one for each. What ranks
/// print waits while its queue is full. When all have ended, `ended` may add the last words.
/// Returns once the queues are empty, or, after a signal that ends programs, when `grace` is over
/// as well, and at once after another.
[[nodiscard]] Result<RankRunResult> run_ranks(
    const RankRunOptions& options, const RankOutput& output, std::span<OutputQueue> queues = {},
    const std::function<void(const Result<RankRunResult>&)>& ended = {});

}  // namespace muster::cluster
