#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/fork_guard.h"
#include "muster/comm/discovery/store.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/comm/proxy/pump.h"
#include "muster/comm/proxy/registrar.h"
#include "muster/comm/proxy/router.h"
#include "muster/runtime/doorbell.h"
#include "muster/runtime/light_mutex.h"

namespace muster::comm {

/// A proxy: the router under a lock, the drivers that it uses, the pump that polls them, and the
/// registrar that keeps the entry in the store. Joining and closing are in proxy_joining.cpp, calls
/// in proxy_calls.cpp. Thread-safe.
class Proxy::Impl {
 public:
  explicit Impl(ProxyOptions options);
  ~Impl() { close(); }

  Result<void> join();
  void close();
  bool flush(Duration timeout);

  Result<std::optional<Message>> receive_once(Timeout timeout);
  Result<Replies> receive_by_id(std::span<const SessionId> sessions, Timeout timeout);
  // What is sent adds its sessions to those that `waiter` expects, if there is one.
  // Fills in what the message lacks.
  Result<SessionIds> isend(Message& message, Waiter* waiter = nullptr);
  Result<SessionIds> iscatter(const Tag& tag, SessionType type,
                              const DestinationBodies& destinations, Waiter* waiter = nullptr);
  Result<SessionIds> ibroadcast(std::string_view peer_type, const Tag& tag, SessionType type,
                                const Body& body, Waiter* waiter = nullptr);
  Result<SessionIds> reply(const Message& message, Tag tag, Body body, Acknowledge acknowledge);
  // Sends by `send(Waiter*)` and waits for the replies, which no other thread can take meanwhile.
  template <class Send>
  Result<Replies> exchange(Send send, Timeout timeout);

  [[nodiscard]] Deadline deadline(Timeout timeout) const {
    if (!timeout) return std::nullopt;
    return after(clock_.now(), *timeout);
  }
  [[nodiscard]] bool inherited() const { return fork_generation_ != fork_generation(); }

  // Runs `look` on the router under the lock.
  template <class Look>
  auto locked(Look look) const {
    const std::lock_guard lock(mutex_);
    return look(*router_);
  }
  void set_lease(Duration lease) { registrar_->set_lease(lease); }

  const Entry& self() const { return self_; }
  const ProxyOptions& options() const { return options_; }
  Result<WritableBuffer> allocate(std::size_t bytes);

 private:
  using Lock = std::unique_lock<LightMutex>;

  Result<void> open_drivers();
  void listen_where_the_store_is();
  Result<void> wait_for_expected_peers(TimePoint deadline);
  // The lock is held, and may be released while waiting.
  Result<void> wait_for_minimal_peers(Lock& lock, std::string_view type);
  Result<void> send_prepared(Lock& lock, const Message& message, SessionIds& sessions,
                             Waiter* waiter);
  // Returns when there is a message, or when the time is up.
  Result<void> wait_for_message(Lock& lock, Timeout timeout);
  Result<std::optional<Message>> take_front();
  Result<Replies> wait_for_replies(Lock& lock, Waiter& waiter, Deadline until);
  // Waits until something may have changed. `ask_at` is when the program is next asked whether to
  // go on; it belongs to one call.
  Result<void> wait(Lock& lock, Deadline until, TimePoint& ask_at);
  // A peer that lives and has forgotten us may have done so because another process took our name:
  // then that is the error.
  Error explain(Lock& lock, Error error);
  [[nodiscard]] TimePoint first_ask() const;
  Result<void> check_open() const;
  [[nodiscard]] std::string missing_peers() const;
  [[nodiscard]] std::string strangers_hint() const;

  ProxyOptions options_;
  std::uint64_t fork_generation_ = fork_generation();
  SteadyClock clock_;
  Entry self_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<Doorbell> doorbell_;
  std::vector<std::unique_ptr<Driver>> drivers_;
  mutable LightMutex mutex_;
  std::unique_ptr<Router> router_;  // guarded by mutex_
  std::optional<Error> ended_;      // guarded by mutex_: why every call fails from now on
  bool closing_ = false;            // guarded by mutex_
  std::unique_ptr<Pump> pump_;
  std::unique_ptr<Registrar> registrar_;
};

template <class Send>
Result<Replies> Proxy::Impl::exchange(Send send, Timeout timeout) {
  Waiter waiter({});
  {
    const std::lock_guard lock(mutex_);
    router_->add(waiter);
  }
  const auto sent = send(&waiter);
  Lock lock(mutex_);
  if (!sent) {
    router_->remove(waiter);
    router_->give_back(waiter);
    return fail(sent.error());
  }
  return wait_for_replies(lock, waiter, deadline(timeout));
}

}  // namespace muster::comm
