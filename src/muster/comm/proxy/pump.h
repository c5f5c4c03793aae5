#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/proxy/router.h"
#include "muster/comm/proxy/spin.h"
#include "muster/runtime/doorbell.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/light_mutex.h"

namespace muster::comm {

/// Keeps messages flowing. One thread at a time is the poller: it watches the drivers, sleeps when
/// nothing comes, and lets the router take what has arrived. A thread of the program that waits
/// becomes the poller itself, because a hop through another thread would cost a wake-up; a
/// background thread steps in while nobody waits, and always watches for new connections and dying
/// processes.
///
/// The lock is the proxy's: it guards the router, and is not held while the poller watches or
/// sleeps.
class Pump {
 public:
  Pump(LightMutex& mutex, Router& router, std::vector<Driver*> drivers, Doorbell& doorbell,
       Duration max_spin);
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;
  ~Pump() { stop(); }

  Result<void> start();
  /// Ends the background thread and every wait. Idempotent; without the lock.
  void stop();

  /// Waits until something may have changed or the deadline has come: after every return the caller
  /// looks again. `lock` is held before and after.
  void wait(std::unique_lock<LightMutex>& lock, Deadline deadline);

  /// Sends every waiting thread back to its caller, which is not to wait again, and returns when
  /// none is left. The lock is held.
  void wait_until_nobody_waits(std::unique_lock<LightMutex>& lock);

  /// Makes all waiting threads look again, and the background thread take up new processes to
  /// watch. The lock is held.
  void nudge();
  /// After a send: makes sure that somebody is awake when held-back messages are due. The lock is
  /// held.
  void after_send();

 private:
  enum class Poller : std::uint8_t { none, program, background };

  void lead(std::unique_lock<LightMutex>& lock, Deadline deadline);
  // The same with a full inbox: whoever makes room needs the lock.
  void wait_beside_full_inbox(std::unique_lock<LightMutex>& lock, Deadline deadline);
  // Until something may have arrived or the deadline has come. Returns about when that was.
  // Between two looks there are `pauses`.
  TimePoint watch_drivers(TimePoint start, TimePoint deadline, int pauses);
  [[nodiscard]] bool any_ready() const;
  [[nodiscard]] bool uses_descriptors() const;
  void run(const std::stop_token& stop);
  void serve(std::unique_lock<LightMutex>& lock);
  void sleep_in_background(Deadline deadline, bool polling);
  void wake_background();
  void watch_processes();
  void handle_control_events();

  LightMutex& mutex_;
  Router& router_;
  std::vector<Driver*> drivers_;
  Doorbell& doorbell_;
  const SteadyClock clock_;
  AdaptiveSpin spin_;           // only the poller
  const bool gathers_;          // some driver holds messages back
  const bool watches_memory_;   // what arrives for some driver shows in memory
  std::uint32_t receipts_ = 0;  // waits since the program last sent, guarded by mutex_
  std::size_t last_taken_ = 0;  // messages that the program's last wait took in, guarded by mutex_
  int pauses_ = 1;              // between two looks at a stream, guarded by mutex_
  std::condition_variable_any changed_;
  Poller poller_ = Poller::none;  // guarded by mutex_
  std::size_t followers_ = 0;     // threads that wait for the poller, guarded by mutex_
  std::size_t claimants_ = 0;  // of those, the ones that want to be the poller, guarded by mutex_
  TimePoint last_lead_;  // when a thread of the program was last the poller, guarded by mutex_
  TimePoint background_until_;  // when the background thread will look again, guarded by mutex_
  std::atomic<bool> nudged_{false};
  FileDescriptor data_epoll_;     // doorbell and data descriptors
  FileDescriptor control_epoll_;  // wake event, control descriptors, processes
  FileDescriptor wake_event_;
  std::unordered_map<int, std::pair<PeerId, FileDescriptor>>
      processes_;  // only the background thread
  std::jthread thread_;
};

}  // namespace muster::comm
