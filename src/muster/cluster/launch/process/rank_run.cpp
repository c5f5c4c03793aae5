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
      look_who_ended();
      take_turns();
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
    int heard = 0;
    while (is_writing()) {
      if (until && (leaves_ > heard || SteadyClock().now() >= *until)) return;
      if (leaves_ > 0 && !until) until = SteadyClock().now() + options_.grace;
      heard = leaves_;
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
    if (number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT) ++leaves_;
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

  void look_who_ended() {
    for (unsigned number = 0; number < ranks_.size(); ++number) {
      Rank& rank = ranks_[number];
      const auto record = rank.ended ? std::nullopt : rank.process.try_end();
      if (!record) continue;
      rank.ended = true;
      --running_;
      // It may have printed as long as it ran. All that is kept, however full the queue is.
      for (const RankStream stream : {RankStream::out, RankStream::err})
        for (int pieces = 0; pieces < kMostPieces && take_piece(number, stream); ++pieces) continue;
      if (record->status.success() || result_.failed_rank) continue;
      result_ = {
          .exit_code = record->status.shell_code(), .failed_rank = number, .record = *record};
      // After a signal that ends programs, ranks fail one after the other, and each has its time.
      if (!told_to_end_ && !options_.keep_going) end();
    }
  }

  // A piece of each stream of each rank, beginning behind the last that gave one: a queue that has
  // room for one piece only is not filled by the same rank every time.
  void take_turns() {
    const std::size_t streams = 2 * ranks_.size();
    std::size_t next = turn_;
    for (std::size_t i = 0; i < streams; ++i) {
      const std::size_t at = (turn_ + i) % streams;
      const RankStream stream = at % 2 == 0 ? RankStream::out : RankStream::err;
      if (!is_full(stream) && take_piece(static_cast<unsigned>(at / 2), stream)) next = at + 1;
    }
    turn_ = next;
  }

  // Whether there was something to read.
  bool take_piece(unsigned number, RankStream stream) {
    RankProcess& process = ranks_[number].process;
    FileDescriptor& from = stream == RankStream::out ? process.output() : process.errors();
    if (!from) return false;
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
  std::size_t turn_ = 0;  // the stream that is looked at first
  std::vector<pollfd> slots_;
  Deadline deadline_;
  bool interrupted_ = false;
  bool told_to_end_ = false;
  int leaves_ = 0;  // signals that end programs, to this process
  RankRunResult result_;
};

}  // namespace

Result<RankRunResult> run_ranks(const RankRunOptions& options, const RankOutput& output,
                                std::span<OutputQueue> queues,
                                const std::function<void(const Result<RankRunResult>&)>& ended) {
  allow_many_descriptors();
  auto signals = SignalReader::open(not_ignored(
      {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP, SIGCONT}));
  if (!signals) return fail(signals.error());
  Run run(options, output, queues, std::move(*signals));
  const auto started = run.start();
  if (!started) run.end();
  Result<RankRunResult> result = run.live();
  if (!started) result = fail(started.error());
  if (ended) ended(result);
  run.finish_writing();
  return result;
}

}  // namespace muster::cluster
