#include "muster/cluster/launch/process/rank_run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/base/clock.h"
#include "muster/base/random.h"
#include "muster/cluster/launch/process/rank_environment.h"
#include "muster/cluster/launch/process/rank_process.h"
#include "muster/cluster/launch/process/shim_program.h"
#include "muster/runtime/poll.h"
#include "muster/runtime/signals.h"

namespace muster::cluster {
namespace {

// A rank costs four descriptors.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

class Run {
 public:
  Run(const RankRunOptions& options, const RankOutput& output, SignalReader signals)
      : options_(options),
        output_(output),
        signals_(std::move(signals)),
        group_(fmt::format("run-{:016x}", secure_random_u64())) {}

  Result<void> start() {
    const auto shim = shim_program();
    if (!shim) return fail(shim.error());
    std::array<int, 2> watch{-1, -1};
    if (::pipe2(watch.data(), O_CLOEXEC) != 0) return fail(system_error(errno, "pipe"));
    const FileDescriptor watch_in(watch[0]);
    watch_ = FileDescriptor(watch[1]);
    const auto own = own_environment();
    for (unsigned rank = 0; rank < options_.ranks; ++rank) {
      auto started =
          RankProcess::start({.shim = *shim,
                              .order = {.grace = options_.grace, .command = options_.command},
                              .environment = environment(own, rank),
                              .watch = watch_in,
                              .reads_stdin = rank == 0});
      if (!started) return fail(started.error().within(fmt::format("rank {}", rank)));
      ranks_.push_back({.process = std::move(*started), .ended = false});
      ++running_;
    }
    return {};
  }

  // Nothing is left when it returns. After a start that failed, too.
  RankRunResult live() {
    while (running_ > 0) {
      wait();
      while (const auto number = signals_.take()) pass_on(*number);
      if (deadline_ && SteadyClock().now() >= *deadline_) end();
      for (unsigned rank = 0; rank < ranks_.size(); ++rank) look(rank);
    }
    for (unsigned rank = 0; rank < ranks_.size(); ++rank) {
      close(rank, RankStream::out, ranks_[rank].process.output());
      close(rank, RankStream::err, ranks_[rank].process.errors());
    }
    return result_;
  }

  void end() {
    told_to_end_ = true;
    deadline_.reset();
    for (const Rank& rank : ranks_) {
      if (!rank.ended) rank.process.signal(SIGTERM);
    }
  }

 private:
  struct Rank {
    RankProcess process;
    bool ended;
  };

  [[nodiscard]] std::vector<std::string> environment(const std::vector<std::string>& own,
                                                     unsigned rank) const {
    const auto place = rank_environment({.group = group_,
                                         .rank = rank,
                                         .size = options_.ranks,
                                         .local_rank = rank,
                                         .discovery = options_.discovery});
    return merged_environment(merged_environment(own, options_.environment), place);
  }

  void wait() {
    slots_.clear();
    slots_.push_back({.fd = signals_.fd(), .events = POLLIN, .revents = 0});
    for (Rank& rank : ranks_) {
      const int ended = rank.ended ? -1 : rank.process.ended_fd();
      for (const int fd : {ended, rank.process.output().get(), rank.process.errors().get()}) {
        if (fd >= 0) slots_.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      }
    }
    (void)poll_until(slots_, deadline_.value_or(SteadyClock().now() + std::chrono::hours(1)));
  }

  static bool is_pending(int number) {
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    return ::sigismember(&pending, number) == 1;
  }

  void pass_on(int number) {
    if (number == SIGTERM || (number == SIGINT && interrupted_)) return end();
    for (const Rank& rank : ranks_) {
      if (!rank.ended) rank.process.signal(number);
    }
    // SIGTSTP would stop this process only where its group has a shell to continue it. A SIGCONT
    // that has come meanwhile would be forgotten. One that comes between the look and the stop is;
    // only the next one continues this process then.
    if (number == SIGTSTP && !is_pending(SIGCONT)) ::raise(SIGSTOP);
    if (number != SIGINT && number != SIGHUP && number != SIGQUIT) return;
    told_to_end_ = true;
    interrupted_ = interrupted_ || number == SIGINT;
    deadline_ = earlier(deadline_, SteadyClock().now() + options_.grace);
  }

  void look(unsigned number) {
    Rank& rank = ranks_[number];
    drain(number, RankStream::out, rank.process.output());
    drain(number, RankStream::err, rank.process.errors());
    if (rank.ended) return;
    const auto record = rank.process.try_end();
    if (!record) return;
    rank.ended = true;
    --running_;
    if (record->status.success() || result_.failed_rank) return;
    result_ = {.exit_code = record->status.shell_code(), .failed_rank = number, .record = *record};
    // After a signal that ends programs, ranks fail one after the other, and each has its time.
    if (!told_to_end_ && !options_.keep_going) end();
  }

  void drain(unsigned number, RankStream stream, FileDescriptor& from) {
    std::array<char, 65536> piece;
    while (from) {
      const ssize_t count = ::read(from.get(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return;
      if (count == 0) return close(number, stream, from);
      output_(number, stream, {piece.data(), static_cast<std::size_t>(count)});
      if (static_cast<std::size_t>(count) < piece.size()) return;
    }
  }

  void close(unsigned number, RankStream stream, FileDescriptor& from) {
    if (!from) return;
    from.reset();
    output_(number, stream, {});
  }

  const RankRunOptions& options_;
  const RankOutput& output_;
  SignalReader signals_;
  const std::string group_;
  FileDescriptor watch_;  // its end ends all ranks
  std::vector<Rank> ranks_;
  std::size_t running_ = 0;
  std::vector<pollfd> slots_;
  Deadline deadline_;
  bool interrupted_ = false;
  bool told_to_end_ = false;
  RankRunResult result_;
};

}  // namespace

Result<RankRunResult> run_ranks(const RankRunOptions& options, const RankOutput& output) {
  allow_many_descriptors();
  auto signals = SignalReader::open(not_ignored(
      {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP, SIGCONT}));
  if (!signals) return fail(signals.error());
  Run run(options, output, std::move(*signals));
  const auto started = run.start();
  if (!started) run.end();
  const RankRunResult result = run.live();
  if (!started) return fail(started.error());
  return result;
}

}  // namespace muster::cluster
