#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/errc.h"
#include "muster/comm/proxy/register_table.h"

namespace muster::comm {

/// Why `Dist::launch` returned.
enum class LaunchEnd : std::uint8_t { stopped, closed, idle, deadline };

struct LaunchOptions {
  /// Ends the loop from outside.
  std::stop_token stop = {};
  Deadline deadline = {};
  /// Ends the loop when no message came for so long.
  std::optional<Duration> idle_timeout = {};
  /// The machine's when null; must outlive the call.
  const Clock* clock = nullptr;
};

/// A local object whose functions are called by messages, made by `dist`:
///
///     auto worker = dist(proxy, Worker{…})
///         .on("learner:rollout:1", [](Worker& self, Proxy& proxy, std::span<const Message>
///         messages) { … }) .on("learner:exit:1", &Worker::exit);
///     worker.launch({.idle_timeout = 30s});
///
/// Handlers run in the thread that calls `launch`, one at a time; the object may be moved before
/// that, not meanwhile. The proxy must outlive it. `stop` is thread-safe, nothing else is.
template <class Instance, class ProxyT>
class Dist {
 public:
  using Handler = std::function<void(Instance&, ProxyT&, std::span<const Message>)>;

  Dist(ProxyT& proxy, Instance instance)
      : state_(std::make_unique<State>(proxy, std::move(instance))) {}

  /// Throws EventSyntaxError when the event is a text that cannot be read.
  Dist& on(Event event, Handler handler) & {
    state_->on(std::move(event), std::move(handler));
    return *this;
  }
  [[nodiscard]] Dist on(Event event, Handler handler) && {
    state_->on(std::move(event), std::move(handler));
    return std::move(*this);
  }

  [[nodiscard]] Instance& local() { return state_->instance; }
  [[nodiscard]] const Instance& local() const { return state_->instance; }
  Instance* operator->() { return &state_->instance; }
  const Instance* operator->() const { return &state_->instance; }
  [[nodiscard]] ProxyT& proxy() { return state_->proxy; }

  /// Receives messages and calls handlers until `stop`, the stop token, the deadline, the idle
  /// timeout or the end of the proxy. Messages that no event asks for are dropped. Fails when
  /// receiving fails, or when too many messages wait for events. What a handler throws comes out of
  /// here. May be called again.
  Result<LaunchEnd> launch(const LaunchOptions& options = {}) { return state_->launch(options); }

  /// Ends `launch` after the handler that runs, or else the next `launch` at once.
  void stop() { state_->stopping.store(true, std::memory_order_release); }

 private:
  // How soon a stop from another thread and peers that left are noticed while no message comes.
  static constexpr Duration kLook = std::chrono::milliseconds(50);

  struct State {
    State(ProxyT& p, Instance i) : proxy(p), instance(std::move(i)), table(peers_of(p)) {}

    static PeerSource peers_of(ProxyT& proxy) {
      PeerSource source{.peers = [&proxy] { return proxy.peers(); }};
      if constexpr (requires {
                      { proxy.peers_version() } -> std::convertible_to<std::uint64_t>;
                    }) {
        source.version = [&proxy] { return proxy.peers_version(); };
      }
      return source;
    }

    void on(Event event, Handler handler) {
      table.register_event_handler(
          std::move(event), [this, handler = std::move(handler)](std::vector<Message> messages) {
            handler(instance, proxy, messages);
          });
    }

    Result<LaunchEnd> launch(const LaunchOptions& options) {
      static const SteadyClock machine;
      const Clock& clock = options.clock ? *options.clock : machine;
      Deadline idle_at = after(clock.now(), options.idle_timeout);
      while (true) {
        if (call_handlers(options)) return LaunchEnd::stopped;
        const TimePoint now = clock.now();
        if (options.deadline && now >= *options.deadline) return LaunchEnd::deadline;
        if (idle_at && now >= *idle_at) return LaunchEnd::idle;
        auto message = proxy.receive_once(wait_from(now, earlier(options.deadline, idle_at)));
        if (!message) {
          if (message.error().is(Errc::closed)) return LaunchEnd::closed;
          return fail(std::move(message).error());
        }
        if (!*message) continue;
        idle_at = after(clock.now(), options.idle_timeout);
        if (auto pushed = table.push(**std::move(message)); !pushed)
          return fail(std::move(pushed).error());
      }
    }

    /// Calls what is due; true when the loop is to stop.
    bool call_handlers(const LaunchOptions& options) {
      do {
        if (options.stop.stop_requested() || stopping.exchange(false, std::memory_order_acq_rel))
          return true;
      } while (table.trigger_next());
      return false;
    }

    static Deadline after(TimePoint now, std::optional<Duration> time) {
      return time ? Deadline(now + *time) : std::nullopt;
    }
    static Duration wait_from(TimePoint now, Deadline until) {
      return until ? std::min(kLook, *until - now) : kLook;
    }

    ProxyT& proxy;
    Instance instance;
    RegisterTable table;
    std::atomic<bool> stopping{false};
  };

  std::unique_ptr<State> state_;  // handlers hold on to it, so it must not move
};

/// Lets messages that `proxy` receives call functions of `instance`.
template <class ProxyT, class Instance>
[[nodiscard]] Dist<std::decay_t<Instance>, ProxyT> dist(ProxyT& proxy, Instance&& instance) {
  return {proxy, std::forward<Instance>(instance)};
}

}  // namespace muster::comm
