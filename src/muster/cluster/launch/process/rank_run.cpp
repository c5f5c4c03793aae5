#include "muster/cluster/launch/process/rank_run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

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

// What a rank printed before it ended is in its pipe, and that holds less than so many pieces of
// 64 KiB; a process that it left behind may go on printing.
constexpr int kMostPieces = 1024;

// A rank costs four descriptors.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

class Run {
 public:
  Run(const RankRunOptions& options, const RankOutput& output, std::span<OutputQueue> queues,
      SignalReader signals)
      : options_(options),
        output_(output),
        queues_(queues),
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
      step();
      if (deadline_ && SteadyClock().now() >= *deadline_) end();
      // Beginning with another each time, so that none fills the queue alone.
      const std::size_t first = turn_++;
      for (std::size_t i = 0; i < ranks_.size(); ++i)
        look(static_cast<unsigned>((first + i) % ranks_.size()));
    }
    for (unsigned rank = 0; rank < ranks_.size(); ++rank) {
      close(rank, RankStream::out, ranks_[rank].process.output());
      close(rank, RankStream::err, ranks_[rank].process.errors());
    }
    return result_;
  }

  // Whoever reads may take their time, unless this process was told to leave.
  void finish_writing() {
    Deadline until;
    while (is_writing()) {
      if (leaves_ && !until) until = SteadyClock().now() + options_.grace;
      if (until && SteadyClock().now() >= *until) return;
      deadline_ = until;
      step();
    }
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

  void step() {
    wait();
    while (const auto number = signals_.take()) pass_on(*number);
    for (OutputQueue& queue : queues_) queue.write();
  }

  // Until something can be read or written, or a rank ends.
  void wait() {
    slots_.clear();
    watch(signals_.fd(), POLLIN);
    for (Rank& rank : ranks_) {
      if (!rank.ended) watch(rank.process.ended_fd(), POLLIN);
      if (!is_full(RankStream::out)) watch(rank.process.output().get(), POLLIN);
      if (!is_full(RankStream::err)) watch(rank.process.errors().get(), POLLIN);
    }
    for (const OutputQueue& queue : queues_) {
      if (!queue.empty()) watch(queue.fd(), POLLOUT);
    }
    (void)poll_until(slots_, deadline_.value_or(SteadyClock().now() + std::chrono::hours(1)));
  }

  void watch(int fd, short events) {
    if (fd >= 0) slots_.push_back({.fd = fd, .events = events, .revents = 0});
  }

  [[nodiscard]] bool is_full(RankStream stream) const {
    if (queues_.empty()) return false;
    return (stream == RankStream::out ? queues_.front() : queues_.back()).full();
  }
  [[nodiscard]] bool is_writing() const {
    return std::ranges::any_of(queues_, [](const OutputQueue& queue) { return !queue.empty(); });
  }

  static bool is_pending(int number) {
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    return ::sigismember(&pending, number) == 1;
  }

  void pass_on(int number) {
    leaves_ =
        leaves_ || number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
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
    // Before the last look at what it printed: it may print as long as it runs.
    const auto record = rank.ended ? std::nullopt : rank.process.try_end();
    const bool ends = record.has_value();
    for (int pieces = 0; pieces < (ends ? kMostPieces : 1); ++pieces) {
      const bool more_out = take_piece(number, RankStream::out, rank.process.output(), ends);
      const bool more_err = take_piece(number, RankStream::err, rank.process.errors(), ends);
      if (!more_out && !more_err) break;
    }
    if (!record) return;
    rank.ended = true;
    --running_;
    if (record->status.success() || result_.failed_rank) return;
    result_ = {.exit_code = record->status.shell_code(), .failed_rank = number, .record = *record};
    // After a signal that ends programs, ranks fail one after the other, and each has its time.
    if (!told_to_end_ && !options_.keep_going) end();
  }

  // Whether there was something to read. What is `last` is taken even where it has to be kept.
  bool take_piece(unsigned number, RankStream stream, FileDescriptor& from, bool last) {
    if (!from || (!last && is_full(stream))) return false;
    std::array<char, 65536> piece;
    const ssize_t count = ::read(from.get(), piece.data(), piece.size());
    if (count < 0) return errno == EINTR;
    if (count == 0) {
      close(number, stream, from);
      return false;
    }
    output_(number, stream, {piece.data(), static_cast<std::size_t>(count)});
    return true;
  }

  void close(unsigned number, RankStream stream, FileDescriptor& from) {
    if (!from) return;
    from.reset();
    output_(number, stream, {});
  }

  const RankRunOptions& options_;
  const RankOutput& output_;
  const std::span<OutputQueue> queues_;
  SignalReader signals_;
  const std::string group_;
  FileDescriptor watch_;  // its end ends all ranks
  std::vector<Rank> ranks_;
  std::size_t running_ = 0;
  std::size_t turn_ = 0;
  std::vector<pollfd> slots_;
  Deadline deadline_;
  bool interrupted_ = false;
  bool told_to_end_ = false;
  bool leaves_ = false;  // by a signal to this process
  RankRunResult result_;
};

}  // namespace

Result<RankRunResult> run_ranks(const RankRunOptions& options, const RankOutput& output,
                                std::span<OutputQueue> queues,
                                const std::function<void(const RankRunResult&)>& ended) {
  allow_many_descriptors();
  auto signals = SignalReader::open(not_ignored(
      {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP, SIGCONT}));
  if (!signals) return fail(signals.error());
  Run run(options, output, queues, std::move(*signals));
  const auto started = run.start();
  if (!started) run.end();
  const RankRunResult result = run.live();
  if (started && ended) ended(result);
  run.finish_writing();
  if (!started) return fail(started.error());
  return result;
}

}  // namespace muster::cluster
