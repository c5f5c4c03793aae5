#include "muster/comm/proxy/proxy.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/fork_guard.h"
#include "muster/base/log.h"
#include "muster/base/random.h"
#include "muster/comm/discovery/open_store.h"
#include "muster/comm/driver/registry.h"
#include "muster/comm/errc.h"
#include "muster/comm/proxy/pump.h"
#include "muster/comm/proxy/registrar.h"
#include "muster/comm/proxy/router.h"
#include "muster/net/local_address.h"
#include "muster/runtime/doorbell.h"

namespace muster::comm {
namespace {

// Readers of the discovery store take longer names for damage.
constexpr std::size_t kLongestName = 1024;

Result<void> check_options(const ProxyOptions& options) {
  const auto check_name = [](std::string_view what, std::string_view name) {
    if (name.empty()) throw std::invalid_argument(fmt::format("[Proxy] '{}' is empty", what));
    if (name.size() > kLongestName) {
      throw std::invalid_argument(fmt::format("[Proxy] '{}' has {} bytes; at most {} are allowed",
                                              what, name.size(), kLongestName));
    }
  };
  check_name("group", options.group);
  check_name("type", options.type);
  if (!options.name.empty()) check_name("name", options.name);
  if (options.expected_peers.empty()) {
    return fail(Errc::peers_missing,
                fmt::format("[Proxy] '{}' expects no peers; name at least one type and count",
                            options.type));
  }
  if (options.lease < std::chrono::milliseconds(50)) {
    throw std::invalid_argument(
        fmt::format("[Proxy] 'lease' is {} ms; at least 50 ms are needed to renew it in time",
                    std::chrono::duration_cast<std::chrono::milliseconds>(options.lease).count()));
  }
  return {};
}

std::string made_up_name(const std::string& type) {
  return fmt::format("{}_{:016x}", type, secure_random_u64());
}

// How often a waiting call asks the program whether to go on.
constexpr Duration kAskEvery = std::chrono::milliseconds(100);

std::string secret_from_environment() {
  const char* const secret = std::getenv("MUSTER_SECRET");
  return secret == nullptr ? "" : secret;
}

}  // namespace

class Proxy::Impl {
 public:
  explicit Impl(ProxyOptions options);
  ~Impl() { close(); }

  Result<void> join();
  void close();

  Result<std::optional<Message>> receive_once(Timeout timeout);
  // Leaves `message` empty when none came in time.
  Result<void> receive_into(std::optional<Message>& message, Timeout timeout);
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
    return clock_.now() + *timeout;
  }
  [[nodiscard]] bool inherited() const { return fork_generation_ != fork_generation(); }

  // Runs `look` on the router under the lock.
  template <class Look>
  auto locked(Look look) const {
    const std::lock_guard lock(mutex_);
    return look(*router_);
  }

  const Entry& self() const { return self_; }
  const ProxyOptions& options() const { return options_; }
  Result<WritableBuffer> allocate(std::size_t bytes);

 private:
  using Lock = std::unique_lock<std::mutex>;

  Result<void> open_drivers();
  void listen_where_the_store_is();
  Result<void> wait_for_expected_peers(TimePoint deadline);
  // The lock is held, and may be released while waiting.
  Result<void> wait_for_minimal_peers(Lock& lock, std::string_view type);
  Result<void> send_prepared(Lock& lock, const Message& message, SessionIds& sessions,
                             Waiter* waiter);
  Result<Replies> wait_for_replies(Lock& lock, Waiter& waiter, Deadline until);
  // Waits until something may have changed. `ask_at` is when the program is next asked whether to
  // go on; it belongs to one call.
  Result<void> wait(Lock& lock, Deadline until, TimePoint& ask_at);
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
  mutable std::mutex mutex_;
  std::unique_ptr<Router> router_;  // guarded by mutex_
  std::optional<Error> ended_;      // guarded by mutex_: why every call fails from now on
  bool closing_ = false;            // guarded by mutex_
  std::unique_ptr<Pump> pump_;
  std::unique_ptr<Registrar> registrar_;
};

Proxy::Impl::Impl(ProxyOptions options) : options_(std::move(options)) {
  if (options_.name.empty()) options_.name = made_up_name(options_.type);
  if (options_.security.secret.empty()) options_.security.secret = secret_from_environment();
  self_ = local_entry(options_.name, options_.type);
}

Result<void> Proxy::Impl::join() {
  const TimePoint deadline = clock_.now() + options_.join_timeout;
  store_ = options_.store;
  if (!store_) {
    auto opened = open_store(options_.discovery);
    if (!opened) return fail(opened.error());
    store_ = *std::move(opened);
  }
  if (auto ok = open_drivers(); !ok) return ok;
  if (auto ok = pump_->start(); !ok) return ok;
  registrar_ = std::make_unique<Registrar>(
      store_, options_.group, self_, options_.lease,
      Registrar::Listener{[this](const std::vector<Entry>& entries) {
                            const std::lock_guard lock(mutex_);
                            if (closing_) return;
                            router_->update(entries);
                            pump_->nudge();
                          },
                          [this](const Error& error) {
                            const std::lock_guard lock(mutex_);
                            ended_ = error.within(fmt::format("'{}' is out of group '{}'",
                                                              self_.name.view(), options_.group));
                            log(LogLevel::error, "comm", "{}", ended_->message());
                            pump_->nudge();
                          }});
  if (auto ok = registrar_->start(std::min(deadline, clock_.now() + options_.store_timeout),
                                  options_.interrupted);
      !ok)
    return fail(ok.error().within(fmt::format("join group '{}'", options_.group)));
  return wait_for_expected_peers(deadline);
}

Result<void> Proxy::Impl::open_drivers() {
  auto doorbell = Doorbell::create();
  if (!doorbell) return fail(doorbell.error());
  doorbell_ = *std::move(doorbell);
  const DriverContext context{self_,         options_.group,    *doorbell_,
                              clock_,        options_.security, options_.limits,
                              options_.lease};
  listen_where_the_store_is();
  auto drivers =
      make_drivers(options_.driver, store_->host_only(), context, options_.driver_options);
  if (!drivers) return fail(drivers.error());
  drivers_ = *std::move(drivers);
  std::vector<Driver*> pointers;
  for (const auto& driver : drivers_) {
    pointers.push_back(driver.get());
    self_.addresses.emplace(driver->name(), driver->address());
  }
  router_ = std::make_unique<Router>(
      self_, RouterOptions{options_.rejoin, options_.limits, options_.lease, {}}, clock_, pointers);
  pump_ = std::make_unique<Pump>(mutex_, *router_, pointers, *doorbell_, options_.max_spin);
  return {};
}

// With a secret, peers may come from the network on which the store is.
void Proxy::Impl::listen_where_the_store_is() {
  const std::string address = store_->local_address();
  if (address.empty() || net::is_loopback(address)) return;
  if (!options_.security.secret.empty() || options_.security.insecure) {
    options_.driver_options.try_emplace("zmq.host", address);
  } else {
    log(LogLevel::warning, "comm",
        "{} is on the network, but peers on other hosts cannot reach '{}': set MUSTER_SECRET, or "
        "'insecure'",
        store_->description(), self_.name.view());
  }
}

std::string Proxy::Impl::missing_peers() const {
  std::vector<std::string> missing;
  for (const auto& [type, expected] : options_.expected_peers) {
    const std::size_t there = router_->count_met(type);
    if (there < expected) missing.push_back(fmt::format("{} of {} '{}'", there, expected, type));
  }
  return fmt::format("{}", fmt::join(missing, ", "));
}

std::string Proxy::Impl::strangers_hint() const {
  const std::uint64_t strangers = router_->counters().drivers.strangers;
  if (strangers == 0) return "";
  return fmt::format(
      "; {} times somebody could not prove to belong here: is MUSTER_SECRET the same?", strangers);
}

Result<void> Proxy::Impl::wait_for_expected_peers(TimePoint deadline) {
  TimePoint ask_at = first_ask();
  Lock lock(mutex_);
  while (true) {
    if (auto ok = check_open(); !ok) return ok;
    const std::string missing = missing_peers();
    if (missing.empty()) return {};
    if (clock_.now() >= deadline) {
      return fail(Errc::discovery_incomplete,
                  fmt::format("joining group '{}' as '{}': only {} found within {:.1f} s in {}{}",
                              options_.group, self_.name.view(), missing,
                              std::chrono::duration<double>(options_.join_timeout).count(),
                              store_->description(), strangers_hint()));
    }
    if (auto ok = wait(lock, deadline, ask_at); !ok) return ok;
  }
}

Result<void> Proxy::Impl::check_open() const {
  if (ended_) return fail(*ended_);
  if (closing_) return fail(Errc::closed, fmt::format("proxy '{}' is closed", self_.name.view()));
  return {};
}

void Proxy::Impl::close() {
  Lock lock(mutex_);
  if (std::exchange(closing_, true)) return;
  if (pump_) {
    pump_->nudge();
    const TimePoint until = clock_.now() + options_.linger;
    router_->flush();
    while (!router_->drained() && clock_.now() < until) pump_->wait(lock, until);
    if (!router_->drained()) {
      log(LogLevel::warning, "comm",
          "'{}' closes with messages that did not arrive within its linger time",
          self_.name.view());
    }
    lock.unlock();
    pump_->stop();
    lock.lock();
    pump_->wait_until_nobody_waits(lock);
    for (const auto& driver : drivers_) driver->close();
    lock.unlock();
  } else {
    lock.unlock();
  }
  // Last, so that the peers hear the goodbye before the entry is gone and know that it was one.
  if (registrar_) registrar_->stop();
}

TimePoint Proxy::Impl::first_ask() const {
  return options_.interrupted ? clock_.now() + kAskEvery : TimePoint{};
}

Result<void> Proxy::Impl::wait(Lock& lock, Deadline until, TimePoint& ask_at) {
  if (!options_.interrupted) {
    pump_->wait(lock, until);
    return {};
  }
  if (clock_.now() < ask_at) {
    pump_->wait(lock, earlier(until, ask_at));
    return {};
  }
  lock.unlock();
  const bool interrupted = options_.interrupted();
  lock.lock();
  ask_at = clock_.now() + kAskEvery;
  if (!interrupted) return {};
  return fail(Errc::interrupted, fmt::format("'{}' was interrupted", self_.name.view()));
}

Result<std::optional<Message>> Proxy::Impl::receive_once(Timeout timeout) {
  Result<std::optional<Message>> result(std::nullopt);  // without it, all bytes would be zeroed
  if (auto ok = receive_into(*result, timeout); !ok) result = fail(std::move(ok).error());
  return result;
}

Result<void> Proxy::Impl::receive_into(std::optional<Message>& message, Timeout timeout) {
  Lock lock(mutex_);
  // Often there is one, and then the clock need not be asked.
  if (router_->pop(message)) return {};
  const Deadline until = deadline(timeout);
  TimePoint ask_at = first_ask();
  for (bool last_look = false;; last_look = until && clock_.now() >= *until) {
    if (router_->pop(message)) return {};
    if (auto ok = check_open(); !ok) return ok;
    if (last_look) return {};
    if (auto ok = wait(lock, until, ask_at); !ok) return ok;
  }
}

Result<Replies> Proxy::Impl::receive_by_id(std::span<const SessionId> sessions, Timeout timeout) {
  const Deadline until = deadline(timeout);
  Waiter waiter(sessions);
  Lock lock(mutex_);
  router_->add(waiter);
  return wait_for_replies(lock, waiter, until);
}

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

Result<Replies> Proxy::Impl::wait_for_replies(Lock& lock, Waiter& waiter, Deadline until) {
  TimePoint ask_at = first_ask();
  Result<void> ok;
  for (bool last_look = false; !waiter.done() && !last_look;
       last_look = until && clock_.now() >= *until) {
    if (ok = check_open(); !ok) break;
    if (router_->inbox_full()) {
      ok = fail(Errc::inbox_full,
                fmt::format("'{}' waits for {} replies while {} other messages wait to be "
                            "received; receive them first",
                            self_.name.view(), waiter.missing(), router_->inbox_size()));
      break;
    }
    if (ok = wait(lock, until, ask_at); !ok) break;
  }
  router_->remove(waiter);
  if (!ok && !waiter.done()) {
    router_->give_back(waiter);
    return fail(ok.error());
  }
  return waiter.take();
}

Result<void> Proxy::Impl::wait_for_minimal_peers(Lock& lock, std::string_view type) {
  if (!options_.rejoin.enabled) return {};
  const auto it = options_.rejoin.minimal_peers.find(std::string(type));
  const std::size_t minimum =
      it == options_.rejoin.minimal_peers.end() ? 1 : std::max<std::size_t>(1, it->second);
  const TimePoint until = clock_.now() + options_.rejoin.minimal_peers_timeout;
  TimePoint ask_at = first_ask();
  while (router_->count(type) < minimum) {
    if (auto ok = check_open(); !ok) return ok;
    if (clock_.now() >= until) {
      return fail(
          Errc::rejoin_timeout,
          fmt::format(
              "{} of at least {} peers of type '{}' are there after {:.1f} s", router_->count(type),
              minimum, type,
              std::chrono::duration<double>(options_.rejoin.minimal_peers_timeout).count()));
    }
    if (auto ok = wait(lock, until, ask_at); !ok) return ok;
  }
  return {};
}

Result<void> Proxy::Impl::send_prepared(Lock& lock, const Message& message, SessionIds& sessions,
                                        Waiter* waiter) {
  TimePoint until{};
  TimePoint ask_at{};
  while (true) {
    if (auto ok = check_open(); !ok) return ok;
    const std::size_t before = sessions.size();
    const Router::Step step = router_->try_send(message, sessions);
    if (waiter != nullptr) {
      for (std::size_t i = before; i < sessions.size(); ++i) waiter->expect(sessions[i]);
    }
    switch (step) {
      case Router::Step::sent: pump_->after_send(); return {};
      case Router::Step::away: return fail(router_->keep(message));
      case Router::Step::full: break;
    }
    if (until == TimePoint{}) {
      until = clock_.now() + options_.send_timeout;
      ask_at = first_ask();
    }
    if (clock_.now() >= until) {
      return fail(
          Errc::would_block,
          fmt::format("the queue to '{}' stayed full for {:.1f} s", message.destination.view(),
                      std::chrono::duration<double>(options_.send_timeout).count()));
    }
    if (auto ok = wait(lock, until, ask_at); !ok) return ok;
  }
}

Result<SessionIds> Proxy::Impl::isend(Message& message, Waiter* waiter) {
  Lock lock(mutex_);
  if (auto ok = router_->prepare(message); !ok) return fail(ok.error());
  if (options_.rejoin.enabled) {
    if (auto ok = wait_for_minimal_peers(lock, router_->type_of(message.destination)); !ok)
      return fail(ok.error());
  }
  SessionIds sessions;
  if (auto ok = send_prepared(lock, message, sessions, waiter); !ok) return fail(ok.error());
  return sessions;
}

Result<SessionIds> Proxy::Impl::iscatter(const Tag& tag, SessionType type,
                                         const DestinationBodies& destinations, Waiter* waiter) {
  std::vector<Message> messages;
  Lock lock(mutex_);
  // Nothing is sent when anything is wrong with any of them.
  for (const auto& [destination, body] : destinations) {
    Message& message = messages.emplace_back();
    message.tag = tag.text;
    message.tag_origin = tag.origin;
    message.destination = destination;
    message.body = body;
    message.session_type = type;
    if (auto ok = router_->prepare(message); !ok) return fail(ok.error());
    if (auto ok = router_->check_room(message); !ok) return fail(ok.error());
  }
  SessionIds sessions;
  for (const Message& message : messages) {
    if (auto ok = wait_for_minimal_peers(lock, router_->type_of(message.destination)); !ok)
      return fail(ok.error());
    const auto sent = send_prepared(lock, message, sessions, waiter);
    if (sent) continue;
    if (!sent.error().is(Errc::pending)) return fail(sent.error());
    log(LogLevel::warning, "comm", "{}", sent.error().message());
  }
  return sessions;
}

Result<SessionIds> Proxy::Impl::ibroadcast(std::string_view peer_type, const Tag& tag,
                                           SessionType type, const Body& body, Waiter* waiter) {
  Lock lock(mutex_);
  if (auto ok = wait_for_minimal_peers(lock, peer_type); !ok) return fail(ok.error());
  const std::vector<Name> destinations = router_->names(peer_type);
  if (destinations.empty()) {
    return fail(Errc::peers_missing,
                fmt::format("no peer of type '{}' is there; there are {}", peer_type, [&] {
                  std::vector<std::string> types;
                  for (const auto& [known, names] : router_->peers())
                    types.push_back(fmt::format("{} '{}'", names.size(), known.view()));
                  return types.empty() ? std::string("none at all")
                                       : fmt::format("{}", fmt::join(types, ", "));
                }()));
  }
  Message message;
  message.tag = tag.text;
  message.tag_origin = tag.origin;
  message.body = body;
  message.session_type = type;
  SessionIds sessions;
  for (const Name& destination : destinations) {
    message.destination = destination;
    message.message_id = {};
    if (auto ok = router_->prepare(message); !ok) return fail(ok.error());
    const auto sent = send_prepared(lock, message, sessions, waiter);
    // A peer that goes away while others are served is a matter for the replies, not for the
    // broadcast.
    const bool left =
        !sent && (sent.error().is(Errc::pending) || sent.error().is(Errc::peer_connection));
    if (left) log(LogLevel::warning, "comm", "{}", sent.error().message());
    if (!sent && !left) return fail(sent.error());
  }
  return sessions;
}

Result<SessionIds> Proxy::Impl::reply(const Message& message, Tag tag, Body body,
                                      Acknowledge acknowledge) {
  Lock lock(mutex_);
  if (auto ok = check_open(); !ok) return fail(ok.error());
  const SessionStage before = router_->stage_of(message);
  auto reply = router_->make_reply(message, std::move(tag), std::move(body), acknowledge);
  if (!reply) return fail(reply.error());
  SessionIds sessions;
  if (auto ok = send_prepared(lock, *reply, sessions, nullptr); !ok) {
    if (!ok.error().is(Errc::pending)) router_->undo_reply(*reply, before);
    return fail(ok.error());
  }
  return sessions;
}

Result<WritableBuffer> Proxy::Impl::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (auto ok = check_open(); !ok) return fail(ok.error());
  for (const auto& driver : drivers_) {
    if (driver->name() == "shm") return driver->allocate(bytes);
  }
  return drivers_.front()->allocate(bytes);
}

// ---- Proxy

Proxy::Proxy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Proxy::Proxy(Proxy&&) noexcept = default;

Proxy& Proxy::operator=(Proxy&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

Proxy::~Proxy() {
  // In a child process the threads that would have to be ended do not exist, and the sockets belong
  // to the parent.
  if (impl_ && impl_->inherited()) static_cast<void>(impl_.release());
}

Result<Proxy> Proxy::join(ProxyOptions options) {
  if (auto ok = check_options(options); !ok) return fail(ok.error());
  auto impl = std::make_unique<Impl>(std::move(options));
  if (auto ok = impl->join(); !ok) return fail(ok.error());
  return Proxy(std::move(impl));
}

Result<void> Proxy::usable() const {
  if (!impl_->inherited()) return {};
  return fail(Errc::forked,
              fmt::format("proxy '{}' was inherited through fork; a child process makes its own",
                          impl_->self().name.view()));
}

const std::string& Proxy::group() const { return impl_->options().group; }
const Name& Proxy::type() const { return impl_->self().type; }
const Name& Proxy::name() const { return impl_->self().name; }

std::map<Name, std::vector<Name>> Proxy::peers() const {
  if (!usable()) return {};
  return impl_->locked([](const Router& router) { return router.peers(); });
}

std::uint64_t Proxy::peers_version() const {
  if (!usable()) return 0;
  return impl_->locked([](const Router& router) { return router.membership_version(); });
}

Name Proxy::type_of(std::string_view peer) const {
  if (!usable()) return {};
  return impl_->locked([&](const Router& router) { return router.type_of(peer); });
}

Result<std::optional<Message>> Proxy::receive_once(Timeout timeout) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->receive_once(timeout);
}

Result<Replies> Proxy::receive_by_id(std::span<const SessionId> sessions, Timeout timeout) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->receive_by_id(sessions, timeout);
}

Result<SessionIds> Proxy::isend(Message&& message) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->isend(message);
}

Result<SessionIds> Proxy::isend(const Message& message) { return isend(Message(message)); }

Result<Replies> Proxy::send(Message message, Timeout timeout) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->exchange([&](Waiter* waiter) { return impl_->isend(message, waiter); }, timeout);
}

Result<SessionIds> Proxy::iscatter(Tag tag, SessionType type,
                                   const DestinationBodies& destinations) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->iscatter(tag, type, destinations);
}

Result<Replies> Proxy::scatter(Tag tag, SessionType type, const DestinationBodies& destinations,
                               Timeout timeout) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->exchange(
      [&](Waiter* waiter) { return impl_->iscatter(tag, type, destinations, waiter); }, timeout);
}

Result<SessionIds> Proxy::ibroadcast(std::string_view peer_type, Tag tag, SessionType type,
                                     Body body) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->ibroadcast(peer_type, tag, type, body);
}

Result<Replies> Proxy::broadcast(std::string_view peer_type, Tag tag, SessionType type, Body body,
                                 Timeout timeout) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->exchange(
      [&](Waiter* waiter) { return impl_->ibroadcast(peer_type, tag, type, body, waiter); },
      timeout);
}

Result<SessionIds> Proxy::reply(const Message& message, Tag tag, Body body,
                                Acknowledge acknowledge) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->reply(message, std::move(tag), std::move(body), acknowledge);
}

Result<SessionIds> Proxy::forward(const Message& message, Name destination, Tag tag,
                                  std::optional<Body> body) {
  Message passed = message;
  passed.destination = std::move(destination);
  if (!tag.empty()) {
    passed.tag = std::move(tag.text);
    passed.tag_origin = std::move(tag.origin);
  }
  if (body) passed.body = *std::move(body);
  passed.message_id = {};
  return isend(std::move(passed));
}

Result<WritableBuffer> Proxy::allocate(std::size_t bytes) {
  if (auto ok = usable(); !ok) return fail(ok.error());
  return impl_->allocate(bytes);
}

ProxyCounters Proxy::counters() const {
  if (!usable()) return {};
  return impl_->locked([](const Router& router) { return router.counters(); });
}

void Proxy::close() {
  if (usable()) impl_->close();
}

}  // namespace muster::comm
