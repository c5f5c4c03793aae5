#include "muster/comm/proxy/registrar.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/comm/errc.h"
#include "muster/runtime/process_life.h"

namespace muster::comm {
namespace {

// A lease is renewed when this part of it has passed, so that one lost renewal does no harm.
constexpr int kRenewalsPerLease = 3;
constexpr Duration kFirstRetry = std::chrono::milliseconds(50);
constexpr Duration kLongestRetry = std::chrono::seconds(2);

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
    std::this_thread::sleep_for(pause);
    if (interrupted && interrupted()) return fail(Errc::interrupted, "interrupted while joining");
    pause = std::min(pause * 2, kLongestRetry);
  }
  registered_ = true;
  renew_at_ = clock_.now() + lease_ / kRenewalsPerLease;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return {};
}

void Registrar::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    store_->interrupt();
    thread_.join();
  }
  if (!registered_) return;
  registered_ = false;
  if (auto removed = store_->remove(group_, self_.name, self_.instance); !removed) {
    log(LogLevel::info, "comm", "leaving '{}': {}; the lease will run out instead", group_,
        removed.error().message());
  }
}

void Registrar::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const TimePoint now = clock_.now();
    if (now >= renew_at_ && !renew(now)) return;
    look();
    if (stop.stop_requested()) return;
    const auto waited = store_->wait_for_change(group_, renew_at_);
    // A store that does not answer must not make this loop spin.
    if (!waited) std::this_thread::sleep_for(kFirstRetry);
  }
}

bool Registrar::renew(TimePoint now) {
  const auto put = store_->put(group_, self_, lease_);
  if (put) {
    renew_at_ = now + lease_ / kRenewalsPerLease;
    if (!std::exchange(reachable_, true))
      log(LogLevel::warning, "comm", "{} answers again", store_->description());
    return true;
  }
  if (put.error().is(Errc::refused)) {
    registered_ = false;
    listener_.on_expelled(put.error());
    return false;
  }
  if (std::exchange(reachable_, false))
    log(LogLevel::warning, "comm", "renewing the lease: {}", put.error().message());
  renew_at_ = now + std::min<Duration>(lease_ / kRenewalsPerLease, std::chrono::milliseconds(200));
  return true;
}

void Registrar::look() {
  auto entries = store_->list(group_);
  if (!entries) return;
  // The lease of a process that was killed may have long to run; on this host one can know better.
  std::erase_if(*entries, [&](const Entry& entry) {
    return entry.host == self_.host && entry.pid_namespace == self_.pid_namespace &&
           !process_runs(entry.pid, entry.pid_start);
  });
  listener_.on_list(*entries);
}

}  // namespace muster::comm
