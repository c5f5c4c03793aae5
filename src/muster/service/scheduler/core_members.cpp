#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "muster/base/wall_clock.h"
#include "muster/runtime/host.h"
#include "muster/runtime/process_life.h"
#include "muster/service/scheduler/core.h"

// Workers that register, fall silent, come back, leave and die.

namespace muster::service {
namespace {

using namespace engine;
using State = WorkerEntry::State;

// Lost workers are remembered by name for messages, this many.
constexpr std::size_t kMostLost = 1000;

}  // namespace

void Core::join(const Registration& registration, const std::function<bool(WorkerId)>& reply) {
  WorkerId id;
  {
    const std::scoped_lock lock(mutex_);
    WorkerEntry& worker = admit(registration);
    id = worker.id;
    worker.state = State::joining;
    worker.orders.clear();
    worker.vanished.reset();
    worker.released = false;
    feed(WorkerJoined{id, registration.threads, registration.memory, registration.held,
                      registration.running});
    logs_.note(LogLevel::info, "worker '{}' ({}, {} threads, Muster {}) joined as number {}",
               worker.name, worker.host, registration.threads, registration.program.version,
               id.value());
    tell_news(News::Kind::joined, worker);
    write_journal();
  }
  const bool told = reply(id);
  {
    const std::scoped_lock lock(mutex_);
    WorkerEntry* const worker = workers_.find(id);
    if (worker != nullptr && worker->state == State::joining) {
      worker->state = told ? State::registered : State::stale;
      if (!told) worker->orders.clear();
    }
  }
  flush();
  tell();
}

/// The entry of a worker that registers: its old one if the number it had is still good.
WorkerEntry& Core::admit(const Registration& registration) {
  WorkerEntry* const holder = workers_.find(registration.name);
  WorkerEntry* const before = registration.before ? workers_.find(*registration.before) : nullptr;
  const bool same = before != nullptr && before == holder && registration.epoch >= first_epoch_ &&
                    registration.epoch <= epoch_ && before->pid == registration.pid &&
                    before->host == registration.host;
  if (same) return *before;
  if (holder != nullptr) lose(*holder, !holder->released, "its name is used by a new process");
  WorkerEntry entry;
  entry.id = workers_.next();
  entry.name = registration.name;
  entry.host = registration.host;
  entry.metrics = registration.metrics;
  entry.pid = registration.pid;
  entry.pid_start = watch(registration.host, registration.pid);
  if (journal_)
    journal_->append(
        ServiceRecord(WorkerNamed{entry.id, entry.name, entry.host, entry.metrics, entry.pid}));
  return workers_.add(std::move(entry));
}

bool Core::is_local(const std::string& host) const {
  return host == options_.host || host == host_name() || host == "localhost" || host == "::1" ||
         host.starts_with("127.");
}

std::uint64_t Core::watch(const std::string& host, std::uint32_t pid) const {
  return is_local(host) ? process_start(pid) : 0;
}

void Core::lose(WorkerEntry& worker, bool crashed, const std::string& why) {
  worker.state = State::lost;
  worker.orders.clear();
  worker.vanished = std::chrono::steady_clock::now();
  ++counters_.workers_lost;
  logs_.note(crashed ? LogLevel::warning : LogLevel::info, "worker '{}' (number {}) is gone: {}",
             worker.name, worker.id.value(), why);
  tell_news(News::Kind::lost, worker);
  feed(WorkerLost{worker.id, crashed});
}

void Core::see(const std::vector<Name>& workers) {
  std::set<std::string_view> there;
  for (const Name& name : workers) there.insert(name.view());
  {
    const std::scoped_lock lock(mutex_);
    std::size_t lost = 0;
    for (auto& [id, worker] : workers_.all()) {
      if (worker.is_lost())
        ++lost;
      else
        look_for(worker, there.contains(worker.name));
    }
    for (auto at = workers_.all().begin(); lost > kMostLost && at != workers_.all().end();) {
      if (at->second.is_lost()) {
        at = workers_.all().erase(at);
        --lost;
      } else {
        ++at;
      }
    }
    write_journal();
  }
  flush();
  tell();
}

void Core::look_for(WorkerEntry& worker, bool is_there) {
  const TimePoint at = std::chrono::steady_clock::now();
  if (worker.state == State::known) {
    // Nothing was heard from it in this life.
    if (at >= grace_until_)
      lose(worker, true, "it did not come back after the scheduler restarted");
    return;
  }
  if (is_there) {
    worker.vanished.reset();
    return;
  }
  // Its process is watched: no need to wait for a lease.
  if (worker.released) return lose(worker, false, "it left");
  if (worker.pid_start != 0 && !process_runs(worker.pid, worker.pid_start))
    return lose(worker, true, fmt::format("process {} ended", worker.pid));
  if (!worker.vanished) {
    worker.vanished = at;
    worker.state = State::stale;
    worker.orders.clear();
    logs_.note(LogLevel::warning, "worker '{}' is silent", worker.name);
    tell_news(News::Kind::silent, worker);
    feed(WorkerSilent{worker.id, true});
  } else if (at - *worker.vanished >= options_.lease) {
    lose(worker, true, "it stayed silent");
  }
}

std::vector<std::pair<Name, Beat>> Core::beats(const std::vector<Name>& workers) const {
  std::vector<std::pair<Name, Beat>> out;
  const std::scoped_lock lock(mutex_);
  for (const Name& name : workers) {
    Beat beat{epoch_, false, {}};
    const WorkerEntry* const worker = workers_.find(name.view());
    if (worker != nullptr &&
        (worker->state == State::registered || worker->state == State::joining)) {
      beat.registered = true;
      beat.worker = worker->id;
    }
    out.emplace_back(name, beat);
  }
  return out;
}

}  // namespace muster::service
