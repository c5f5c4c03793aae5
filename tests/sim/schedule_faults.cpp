#include <algorithm>
#include <set>
#include <utility>

#include "muster/engine/schedule/journal.h"
#include "tests/sim/schedule_cluster.h"

namespace muster::sim {

SimWorker* ScheduleCluster::any_worker() {
  SimWorker& w = *workers_[random_.below(workers_.size())];
  return w.alive && w.is_member && !w.frozen ? &w : nullptr;
}

void ScheduleCluster::step() {
  feed(TimePassed{});
  std::size_t alive = 0;
  for (const auto& w : workers_) alive += w->alive && w->is_member && !w->frozen;
  if (alive < 2) join();
  if (!calm_ && now_ < kPeace && random_.chance(plan_.faults)) harm();
  later(kStep, [this] { step(); });
}

void ScheduleCluster::harm() {
  SimWorker* const w = any_worker();
  const std::uint64_t kind = random_.below(plan_.restarts ? 9 : 8);
  if (kind == 0) return join();
  if (kind == 6) return cancel_one();
  if (kind == 7) return release_one();
  if (kind == 8) return restart();
  if (w == nullptr) return;
  if (kind == 1) die(*w, true);
  if (kind == 2 || kind == 3) freeze(*w);
  if (kind == 4) evict(*w);
  if (kind == 5) leave(*w);
}

void ScheduleCluster::join() {
  ++out_.joins;
  auto w = std::make_unique<SimWorker>();
  // With several, others would be blamed for what the poisoned task does.
  w->threads = plan_.poison ? 1 : 1 + static_cast<std::uint32_t>(random_.below(3));
  w->budget = 2000 + random_.below(20000);
  admit(std::move(w));
}

void ScheduleCluster::admit(std::unique_ptr<SimWorker> w) {
  w->id = static_cast<std::uint32_t>(workers_.size());
  workers_.push_back(std::move(w));
  register_worker(*workers_.back());
}

void ScheduleCluster::register_worker(SimWorker& w) {
  WorkerJoined joined{WorkerId(w.id), w.threads, w.budget, {}, {}};
  std::set<std::uint64_t> chunks;
  for (const auto& [chunk, value] : w.store) chunks.insert(chunk);
  w.known.clear();
  w.coming.clear();
  w.used = 0;
  for (const std::uint64_t k : chunks) {
    const ChunkId chunk{SessionId(static_cast<std::uint32_t>(k >> 32)),
                        static_cast<std::uint32_t>(k)};
    joined.held.push_back({chunk, bytes_of(chunk)});
    learn(w, chunk);
  }
  std::unordered_map<std::uint64_t, std::uint64_t> promised;
  for (const auto& [attempt, task] : w.running) {
    joined.running.push_back({task, attempt});
    if (w.promised.contains(attempt)) promised[attempt] = w.promised[attempt];
  }
  for (const RunTask& run : w.queue) {
    joined.running.push_back({run.task, run.attempt});
    if (w.promised.contains(run.attempt)) promised[run.attempt] = w.promised[run.attempt];
  }
  w.promised = promised;
  for (const auto& [attempt, bytes] : promised) w.used += bytes;
  feed(joined);
  if (w.leaving) feed(WorkerLeaving{WorkerId(w.id)});
}

void ScheduleCluster::leave(SimWorker& w) {
  feed(WorkerLeaving{WorkerId(w.id)});
  if (std::exchange(w.leaving, true)) return;
  later(kPatience, [this, &w] { at_worker(w, [this, &w] { die(w, false); }); });
}

void ScheduleCluster::die(SimWorker& w, bool crashed) {
  w.alive = false;
  w.store.clear();
  if (crashed) ++out_.crashes;
  w.last_from = std::max(w.last_from, now_ + 5 * kMillisecond);
  later(w.last_from - now_, [this, &w, crashed] { lose(w, crashed); });
}

void ScheduleCluster::lose(SimWorker& w, bool crashed) {
  if (!w.is_member) return;
  w.is_member = false;
  w.known.clear();
  w.coming.clear();
  w.promised.clear();
  feed(WorkerLost{WorkerId(w.id), crashed});
}

void ScheduleCluster::freeze(SimWorker& w) {
  ++out_.silences;
  w.frozen = true;
  feed(WorkerSilent{WorkerId(w.id), true});
  if (random_.chance(0.5)) {
    later(30 * kMillisecond, [this, &w] { thaw(w); });
    return;
  }
  later(60 * kMillisecond, [this, &w] { lose(w, true); });
  later(90 * kMillisecond, [this, &w] { come_back(w); });
}

void ScheduleCluster::come_back(SimWorker& w) {
  if (!w.alive) return;
  auto again = std::make_unique<SimWorker>();
  again->threads = w.threads;
  again->budget = w.budget;
  again->store = std::move(w.store);
  w.alive = false;
  admit(std::move(again));
  if (w.leaving) leave(*workers_.back());
}

void ScheduleCluster::thaw(SimWorker& w) {
  if (!w.is_member) return come_back(w);
  w.frozen = false;
  feed(WorkerSilent{WorkerId(w.id), false});
  std::vector<std::function<void()>> deferred;
  deferred.swap(w.deferred);
  for (const auto& act : deferred) at_worker(w, act);
}

void ScheduleCluster::evict(SimWorker& w) {
  if (w.store.empty()) return;
  ++out_.evictions;
  std::uint64_t least = ~std::uint64_t{0};
  for (const auto& [chunk, value] : w.store) least = std::min(least, chunk);
  w.store.erase(least);
  tell(w, ChunksLost{WorkerId(w.id),
                     {{SessionId(static_cast<std::uint32_t>(least >> 32)),
                       static_cast<std::uint32_t>(least)}}});
}

void ScheduleCluster::restart() {
  ++out_.restarts;
  auto again = std::make_unique<Scheduler>(options_);
  JournalReader journal(journal_);
  ScheduleActions ignored;
  while (const auto record = journal.next()) again->handle(record->now, record->event, ignored);
  if (again->digest() != scheduler_->digest()) return violate("the journal tells another story");
  scheduler_ = std::move(again);
  for (const auto& w : workers_) ++w->connection;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    SimWorker& w = *workers_[i];
    if (w.is_member && w.alive && !w.frozen) register_worker(w);
    if (w.is_member && w.alive && w.frozen) lose(w, false);
  }
}

}  // namespace muster::sim
