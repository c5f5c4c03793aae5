#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/discovery/store.h"

namespace muster::comm {

/// Keeps one proxy's entry in the discovery store alive, and reports who else is there. Its own
/// thread, because a store may take its time; while the store does not answer, nothing is reported
/// and nobody counts as gone.
class Registrar {
 public:
  struct Listener {
    std::function<void(const std::vector<Entry>&)> on_list;
    /// Another process took the name: this one is out of the group.
    std::function<void(const Error&)> on_expelled;
  };

  Registrar(std::shared_ptr<Store> store, std::string group, const Entry& self, Duration lease,
            Listener listener);
  Registrar(const Registrar&) = delete;
  Registrar& operator=(const Registrar&) = delete;
  ~Registrar() { stop(); }

  /// Registers, and fails if that does not work by the deadline or `interrupted` (which may be
  /// empty) says so.
  Result<void> start(TimePoint deadline, const std::function<bool()>& interrupted = {});
  /// Takes the entry away, as far as the store answers, and lets go of the store. Idempotent.
  void stop();
  /// Asks the store now whether the name is still ours, from any thread. Reports to
  /// `Listener::on_expelled` before it returns.
  void verify();
  /// From now on the entry lives so long without being renewed; renews it soon. From any thread.
  void set_lease(Duration lease);

 private:
  void run(const std::stop_token& stop);
  bool renew(TimePoint now);
  // False when this one is out of the group.
  bool look();
  // Nothing when it has stopped; refused for ever once it was.
  std::optional<Result<void>> put();

  std::mutex mutex_;              // held while registering and leaving
  std::shared_ptr<Store> store_;  // changed by `stop` only
  std::string group_;
  const Entry& self_;  // the proxy's, which outlives this
  std::atomic<Duration> lease_;
  std::atomic<bool> renew_now_ = false;
  Listener listener_;
  SteadyClock clock_;
  TimePoint renew_at_;
  std::unordered_set<InstanceId> ran_;  // of the last list; only by the thread
  bool reachable_ = true;               // at the last renewal
  bool registered_ = false;             // guarded by mutex_
  std::optional<Error> expelled_;       // guarded by mutex_
  std::jthread thread_;
};

}  // namespace muster::comm
