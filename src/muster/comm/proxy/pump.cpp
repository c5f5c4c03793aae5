#include "muster/comm/proxy/pump.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/runtime/last_look.h"
#include "muster/runtime/process_life.h"

namespace muster::comm {
namespace {

// While the program comes back to receive at least this often, the background thread leaves the
// polling to it.
constexpr Duration kProgramIsActive = std::chrono::milliseconds(2);
// How soon the background thread looks again whether it has to step in, when nobody polls right now
// and when the program does.
constexpr Duration kLookAgain = std::chrono::milliseconds(3);
constexpr Duration kLookAgainWhileLed = std::chrono::milliseconds(10);
// The same for a thread of the program that waits for other news than messages, of which the inbox
// takes no more.
constexpr Duration kLookAgainWhileFull = std::chrono::milliseconds(1);
// A program that took in messages so often without sending one itself is being sent a stream. Then
// each look takes a line of memory away from the sender, and messages are better taken several at a
// time: looks are so many pauses of about 50 ns apart, more as long as each look finds several.
constexpr std::uint32_t kStream = 32;
constexpr int kFewestPauses = 8;
constexpr int kMostPauses = 64;
// Unless so many came at the last look: then the sender is ahead, and a pause only costs time.
constexpr std::size_t kManyAtOnce = 16;
// No sleep is longer: a lost wake-up would cost this much and not the job.
constexpr Duration kLongestSleep = std::chrono::seconds(1);
// How long the background thread may take to hand the polling over.
constexpr Duration kHandover = std::chrono::milliseconds(20);

Result<void> add_to_epoll(int epoll, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
    return fail(system_error(errno, "watch a descriptor"));
  return {};
}

// Before the descriptor is closed: a child that inherited it would keep it in the queue, and events
// of the old one would be taken for those of the next with its number.
void forget_in_epoll(int epoll, int fd) { ::epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr); }

void pause_cpu(int times = 1) {
#if defined(__x86_64__)
  for (int i = 0; i < times; ++i) __builtin_ia32_pause();
#endif
}

// Not poll(2): it counts in milliseconds, which is too coarse for held-back messages.
void poll_descriptors(pollfd* fds, nfds_t count, TimePoint until, TimePoint now) {
  const auto left = std::max(until - now, Duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec timeout{static_cast<time_t>(seconds.count()),
                         static_cast<long>((left - seconds).count())};
  ::ppoll(fds, count, &timeout, nullptr);
}

}  // namespace

Pump::Pump(LightMutex& mutex, Router& router, std::vector<Driver*> drivers, Doorbell& doorbell,
           Duration max_spin)
    : mutex_(mutex),
      router_(router),
      drivers_(std::move(drivers)),
      doorbell_(doorbell),
      spin_(max_spin),
      gathers_(std::any_of(drivers_.begin(), drivers_.end(),
                           [](const Driver* driver) { return driver->gathers(); })),
      watches_memory_(std::any_of(drivers_.begin(), drivers_.end(),
                                  [](const Driver* driver) { return driver->data_fd() < 0; })) {}

Result<void> Pump::start() {
  data_epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  control_epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  wake_event_ = FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!data_epoll_ || !control_epoll_ || !wake_event_)
    return fail(system_error(errno, "make an event queue"));
  if (auto ok = add_to_epoll(data_epoll_.get(), doorbell_.fd(), EPOLLIN); !ok) return ok;
  if (auto ok = add_to_epoll(control_epoll_.get(), wake_event_.get(), EPOLLIN); !ok) return ok;
  for (const Driver* const driver : drivers_) {
    if (driver->data_fd() >= 0) {
      if (auto ok = add_to_epoll(data_epoll_.get(), driver->data_fd(), EPOLLIN); !ok) return ok;
    }
    if (driver->control_fd() >= 0) {
      if (auto ok = add_to_epoll(control_epoll_.get(), driver->control_fd(), EPOLLIN); !ok)
        return ok;
    }
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return {};
}

void Pump::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  {
    const std::lock_guard lock(mutex_);
    nudge();
  }
  thread_.join();
}

void Pump::wait(std::unique_lock<LightMutex>& lock, Deadline deadline) {
  if (poller_ == Poller::none)
    return router_.inbox_full() ? wait_beside_full_inbox(lock, deadline) : lead(lock, deadline);
  const bool claims = poller_ == Poller::background;
  if (claims) {
    ++claimants_;
    wake_background();
  }
  ++followers_;
  const TimePoint now = clock_.now();
  TimePoint until = now + kLongestSleep;
  if (deadline) until = std::min(*deadline, until);
  // The background thread lets go at once; a caller that only looks once must get to look.
  if (claims) until = std::max(until, now + kHandover);
  changed_.wait_until(lock, until);
  --followers_;
  if (claims) --claimants_;
}

void Pump::lead(std::unique_lock<LightMutex>& lock, Deadline deadline) {
  TimePoint now = clock_.now();
  // No poll before the look: it might take in the very news that the caller waits for (room in a
  // queue, say), and the caller would sleep without having tried again.
  const bool streams = ++receipts_ > kStream && watches_memory_ && last_taken_ < kManyAtOnce;
  if ((streams || !any_ready()) && !(deadline && *deadline <= now)) {
    router_.flush();
    poller_ = Poller::program;
    const TimePoint until = *earlier(earlier(deadline, router_.next_wakeup()), now + kLongestSleep);
    const int pauses = streams ? pauses_ : 1;
    lock.unlock();
    now = watch_drivers(now, until, pauses);
    lock.lock();
    poller_ = Poller::none;
  }
  last_taken_ = router_.poll();
  pauses_ =
      last_taken_ > 1 ? std::min(2 * pauses_, kMostPauses) : std::max(pauses_ / 2, kFewestPauses);
  last_lead_ = now;
  if (followers_ > 0) changed_.notify_all();
}

// What has arrived then stays where it is, so it must not end the wait. Nobody polls meanwhile, so
// that who makes room may.
void Pump::wait_beside_full_inbox(std::unique_lock<LightMutex>& lock, Deadline deadline) {
  router_.flush();
  ++followers_;
  changed_.wait_until(lock, *earlier(deadline, clock_.now() + kLookAgainWhileFull));
  --followers_;
  if (poller_ != Poller::none) return;
  const std::size_t taken = router_.poll();
  last_lead_ = clock_.now();
  // Only then: others that wait like this would else wake each other all the time.
  if (taken > 0 && followers_ > 0) changed_.notify_all();
}

bool Pump::any_ready() const {
  return std::any_of(drivers_.begin(), drivers_.end(),
                     [](const Driver* driver) { return driver->ready(); });
}

bool Pump::uses_descriptors() const {
  return std::any_of(drivers_.begin(), drivers_.end(),
                     [](const Driver* driver) { return driver->data_fd() >= 0; });
}

TimePoint Pump::watch_drivers(TimePoint start, TimePoint deadline, int pauses) {
  const TimePoint spin_until = std::min(start + spin_.duration(), deadline);
  if (pauses > 1) {
    pause_cpu(pauses);
    if (any_ready()) return start;
  }
  for (TimePoint now = start; now < spin_until; now = clock_.now()) {
    for (int i = 0; i < 16; ++i) {
      if (any_ready() || nudged_.load(std::memory_order_relaxed)) {
        nudged_.store(false, std::memory_order_relaxed);
        spin_.hit();
        return now;
      }
      pause_cpu(pauses);
    }
  }
  const bool by_descriptor = uses_descriptors();
  doorbell_.prepare(by_descriptor ? Doorbell::Sleep::on_fd : Doorbell::Sleep::on_word);
  const auto stirs_after_all = [&] { return any_ready() || nudged_.load(); };
  if (!(watches_memory_ ? last_look(stirs_after_all) : stirs_after_all())) {
    if (by_descriptor) {
      pollfd slot{data_epoll_.get(), POLLIN, 0};
      poll_descriptors(&slot, 1, deadline, clock_.now());
    } else {
      doorbell_.sleep(deadline);
    }
    spin_.miss();
  }
  doorbell_.awake();
  nudged_.store(false, std::memory_order_relaxed);
  return clock_.now();
}

void Pump::wait_until_nobody_waits(std::unique_lock<LightMutex>& lock) {
  constexpr Duration kNudgeAgain = std::chrono::milliseconds(1);
  while (poller_ != Poller::none || followers_ > 0) {
    nudge();
    changed_.wait_for(lock, kNudgeAgain);
  }
}

void Pump::nudge() {
  nudged_.store(true);
  doorbell_.ring();
  wake_background();
  changed_.notify_all();
}

void Pump::wake_background() {
  const std::uint64_t one = 1;
  // A full counter means that a wake-up is already waiting.
  static_cast<void>(!::write(wake_event_.get(), &one, sizeof one));
}

void Pump::after_send() {
  receipts_ = 0;
  if (!gathers_) return;
  const Deadline due = router_.next_wakeup();
  if (!due || background_until_ <= *due) return;
  background_until_ = *due;
  wake_background();
}

// ---- The background thread

void Pump::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) serve(lock);
}

void Pump::serve(std::unique_lock<LightMutex>& lock) {
  watch_processes();
  const TimePoint now = clock_.now();
  const bool program_polls =
      poller_ == Poller::program || claimants_ > 0 || now - last_lead_ < kProgramIsActive;
  const bool polls = poller_ == Poller::none && !program_polls;
  // What has arrived then stays where it is, so it must not end the sleep.
  const bool full = router_.inbox_full();
  const Deadline due = router_.next_wakeup();
  const TimePoint latest = now + (polls && !full               ? kLongestSleep
                                  : poller_ == Poller::program ? kLookAgainWhileLed
                                                               : kLookAgain);
  background_until_ = due ? std::min(*due, latest) : latest;
  const TimePoint until = background_until_;
  if (polls) poller_ = Poller::background;
  lock.unlock();
  sleep_in_background(until, polls && !full);
  lock.lock();
  handle_control_events();
  const bool due_now = due && *due <= clock_.now();
  if (polls || (due_now && poller_ == Poller::none)) router_.poll();
  if (polls) {
    poller_ = Poller::none;
    if (followers_ > 0) changed_.notify_all();
  } else {
    router_.flush();
  }
}

void Pump::sleep_in_background(Deadline deadline, bool polling) {
  std::array<pollfd, 2> slots{pollfd{control_epoll_.get(), POLLIN, 0},
                              pollfd{data_epoll_.get(), POLLIN, 0}};
  if (polling) doorbell_.prepare(Doorbell::Sleep::on_fd);
  if (!polling || !last_look([&] { return any_ready(); }))
    poll_descriptors(slots.data(), polling ? 2 : 1, *deadline, clock_.now());
  if (polling) doorbell_.awake();
}

void Pump::watch_processes() {
  const auto watchable = router_.take_watchable();
  if (watchable.empty()) return;
  // A process may outlive its proxies, and have many.
  std::erase_if(processes_, [&](const auto& item) {
    if (!router_.is_gone(item.second.first)) return false;
    forget_in_epoll(control_epoll_.get(), item.first);
    return true;
  });
  for (const auto& [peer, entry] : watchable) {
    FileDescriptor process(
        static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(entry.pid), 0)));
    const bool exists = process || errno != ESRCH;
    // After it was opened: the pid may be another's by now.
    if (!exists || !process_runs(entry.pid, entry.pid_start)) {
      router_.process_exited(peer);
      continue;
    }
    if (!process) continue;  // the lease and the socket tell, if later
    const int fd = process.get();
    if (add_to_epoll(control_epoll_.get(), fd, EPOLLIN).has_value())
      processes_.emplace(fd, std::pair(peer, std::move(process)));
  }
}

void Pump::handle_control_events() {
  std::array<epoll_event, 16> events{};
  const int count =
      ::epoll_wait(control_epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool controls = false;
  bool exits = false;
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    if (fd == wake_event_.get()) {
      std::uint64_t value = 0;
      static_cast<void>(!::read(fd, &value, sizeof value));
    } else if (const auto it = processes_.find(fd); it != processes_.end()) {
      router_.process_exited(it->second.first);
      forget_in_epoll(control_epoll_.get(), fd);
      processes_.erase(it);
      exits = true;
    } else {
      controls = true;
    }
  }
  if (!controls && !exits) return;
  if (controls) router_.control();
  changed_.notify_all();
  nudged_.store(true);
  doorbell_.ring();
}

}  // namespace muster::comm
