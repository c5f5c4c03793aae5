#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/base/log.h"
#include "muster/base/random.h"
#include "muster/comm/discovery/open_store.h"
#include "muster/comm/driver/registry.h"
#include "muster/comm/errc.h"
#include "muster/comm/proxy/proxy_impl.h"
#include "muster/net/local_address.h"

// How a proxy comes into its group, and how it leaves.

namespace muster::comm {
namespace {

// Whoever waits for longer than this wants to know for whom.
constexpr Duration kTellWhoIsMissing = std::chrono::seconds(5);

std::string made_up_name(const std::string& type) {
  return fmt::format("{}_{:016x}", type, secure_random_u64());
}

std::string secret_from_environment() {
  const char* const secret = std::getenv("MUSTER_SECRET");
  return secret == nullptr ? "" : secret;
}

// Set by whoever starts components, so that those of one job find each other.
std::string discovery_from_environment() {
  const char* const address = std::getenv("MUSTER_DISCOVERY");
  return address == nullptr ? "" : address;
}

}  // namespace

Proxy::Impl::Impl(ProxyOptions options) : options_(std::move(options)) {
  if (options_.name.empty()) options_.name = made_up_name(options_.type);
  if (options_.security.secret.empty()) options_.security.secret = secret_from_environment();
  self_ = local_entry(options_.name, options_.type);
}

Result<void> Proxy::Impl::join() {
  const TimePoint deadline = after(clock_.now(), options_.join_timeout);
  store_ = options_.store;
  if (!store_) {
    auto opened =
        open_store(options_.discovery.empty() ? discovery_from_environment() : options_.discovery,
                   options_.security);
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
                            if (closing_ || ended_) return;
                            ended_ = error.within(fmt::format("'{}' is out of group '{}'",
                                                              self_.name.view(), options_.group));
                            log(LogLevel::error, "comm", "{}", ended_->message());
                            pump_->nudge();
                          }});
  if (auto ok = registrar_->start(std::min(deadline, after(clock_.now(), options_.store_timeout)),
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
  TimePoint tell_at = clock_.now() + kTellWhoIsMissing;
  Lock lock(mutex_);
  while (true) {
    if (auto ok = check_open(); !ok) return ok;
    const std::string missing = missing_peers();
    if (missing.empty()) return {};
    const TimePoint now = clock_.now();
    if (now >= tell_at) {
      tell_at = TimePoint::max();
      log(LogLevel::warning, "comm", "joining group '{}' as '{}': {} there so far in {}{}",
          options_.group, self_.name.view(), missing, store_->description(), strangers_hint());
    }
    if (now >= deadline) {
      return fail(Errc::discovery_incomplete,
                  fmt::format("joining group '{}' as '{}': only {} found within {:.1f} s in {}{}",
                              options_.group, self_.name.view(), missing,
                              std::chrono::duration<double>(options_.join_timeout).count(),
                              store_->description(), strangers_hint()));
    }
    if (auto ok = wait(lock, std::min(deadline, tell_at), ask_at); !ok) return ok;
  }
}

bool Proxy::Impl::flush(Duration timeout) {
  const TimePoint until = after(clock_.now(), timeout);
  Lock lock(mutex_);
  router_->flush();
  // Who closes it waits by itself, and not for this.
  while (!closing_ && !router_->drained() && clock_.now() < until) pump_->wait(lock, until);
  return !closing_ && router_->drained();
}

void Proxy::Impl::close() {
  Lock lock(mutex_);
  if (std::exchange(closing_, true)) return;
  if (pump_) {
    pump_->nudge();
    const TimePoint until = after(clock_.now(), options_.linger);
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
    router_->close();
    // Nobody uses them any more: whoever comes finds that this is closed.
    const auto doorbell = std::move(doorbell_);
    const auto drivers = std::move(drivers_);
    const auto pump = std::move(pump_);
    lock.unlock();
  } else {
    lock.unlock();
  }
  // Last, so that the peers hear the goodbye before the entry is gone and know that it was one.
  if (registrar_) registrar_->stop();
  store_.reset();
  options_.store.reset();
}

}  // namespace muster::comm
