#include "muster/comm/proxy/registrar.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/comm/errc.h"
#include "muster/runtime/process_life.h"

namespace muster::comm {
namespace {

// A lease is renewed when this part of it has passed, so that one lost renewal does no harm.
constexpr int kRenewalsPerLease = 4;
constexpr Duration kFirstRetry = std::chrono::milliseconds(50);
constexpr Duration kLongestRetry = std::chrono::seconds(2);
// For leaving: where everything ends at once, the store may have gone first.
constexpr Duration kGoodbye = std::chrono::milliseconds(500);

}  // namespace

Registrar::Registrar(std::shared_ptr<Store> store, std::string group, const Entry& self,
                     Duration lease, Listener listener)
    : store_(std::move(store)),
      group_(std::move(group)),
      self_(self),
      lease_(lease),
      listener_(std::move(listener)) {}

Result<void> Registrar::start(TimePoint deadline, const std::function<bool()>& interrupted) {
  Duration pause = kFirstRetry;
  while (true) {
    const auto put = store_->put(group_, self_, lease_);
    if (put) break;
    if (!put.error().is(Errc::store_unreachable) || clock_.now() + pause > deadline) return put;
    if (std::exchange(reachable_, false))
      log(LogLevel::warning, "comm", "joining group '{}': {}; trying again", group_,
          put.error().message());
    std::this_thread::sleep_for(pause);
    if (interrupted && interrupted()) return fail(Errc::interrupted, "interrupted while joining");
    pause = std::min(pause * 2, kLongestRetry);
  }
  {
    const std::lock_guard lock(mutex_);
    registered_ = true;
  }
  reachable_ = true;
  renew_at_ = clock_.now() + lease_.load() / kRenewalsPerLease;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return {};
}

void Registrar::stop() {
  if (store_) store_->hurry(clock_.now() + kGoodbye);
  if (thread_.joinable()) {
    thread_.request_stop();
    store_->interrupt();
    thread_.join();
  }
  const std::lock_guard lock(mutex_);
  const auto store = std::exchange(store_, nullptr);
  if (!store) return;
  // If nobody would answer, the lease runs out.
  if (std::exchange(registered_, false) && reachable_) {
    store->hurry(clock_.now() + kGoodbye);
    if (auto removed = store->remove(group_, self_.name, self_.instance); !removed) {
      log(LogLevel::info, "comm", "leaving '{}': {}; the lease will run out instead", group_,
          removed.error().message());
    }
  }
  store->hurry(TimePoint::max());  // others may use it
}

std::optional<Result<void>> Registrar::put() {
  const std::lock_guard lock(mutex_);
  if (expelled_) return fail(*expelled_);
  if (!registered_) return std::nullopt;
  auto done = store_->put(group_, self_, lease_);
  if (!done && done.error().is(Errc::refused)) {
    registered_ = false;
    expelled_ = done.error();
  }
  return done;
}

void Registrar::verify() {
  const auto done = put();
  if (done && !*done && done->error().is(Errc::refused)) listener_.on_expelled(done->error());
}

void Registrar::set_lease(Duration lease) {
  if (lease_.exchange(lease) == lease) return;
  renew_now_ = true;
  // Who holds the lock asks the store, and looks afterwards whether there is more to do.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && registered_) store_->interrupt();
}

void Registrar::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const TimePoint now = clock_.now();
    const bool due = renew_now_.exchange(false) || now >= renew_at_;
    if (due && !renew(now)) return;
    if (stop.stop_requested() || !look() || stop.stop_requested()) return;
    if (renew_now_) continue;
    const auto waited = store_->wait_for_change(group_, renew_at_);
    // A store that does not answer must not make this loop spin.
    if (!waited && !stop.stop_requested()) std::this_thread::sleep_for(kFirstRetry);
  }
}

bool Registrar::renew(TimePoint now) {
  const auto done = put();
  if (!done) return false;
  if (*done) {
    renew_at_ = now + lease_.load() / kRenewalsPerLease;
    if (!std::exchange(reachable_, true))
      log(LogLevel::warning, "comm", "{} answers again", store_->description());
    return true;
  }
  const Error& error = done->error();
  if (error.is(Errc::refused)) {
    listener_.on_expelled(error);
    return false;
  }
  if (std::exchange(reachable_, false))
    log(LogLevel::warning, "comm", "renewing the lease: {}", error.message());
  renew_at_ =
      now + std::min<Duration>(lease_.load() / kRenewalsPerLease, std::chrono::milliseconds(200));
  return true;
}

bool Registrar::look() {
  auto entries = store_->list(group_);
  if (!entries) return true;
  const bool replaced = std::any_of(entries->begin(), entries->end(), [&](const Entry& entry) {
    return entry.name == self_.name && entry.instance != self_.instance;
  });
  if (replaced && !renew(clock_.now())) return false;
  // The lease of a process that was killed may have long to run; on this host one can know better.
  // Who was listed once is watched, and asking for every one each time would take long.
  std::unordered_set<InstanceId> ran;
  std::erase_if(*entries, [&](const Entry& entry) {
    const bool runs = entry.host != self_.host || entry.pid_namespace != self_.pid_namespace ||
                      ran_.contains(entry.instance) || process_runs(entry.pid, entry.pid_start);
    if (runs) ran.insert(entry.instance);
    return !runs;
  });
  ran_ = std::move(ran);
  listener_.on_list(*entries);
  return true;
}

}  // namespace muster::comm
