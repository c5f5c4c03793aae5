#include <algorithm>
#include <utility>

#include "muster/base/wall_clock.h"
#include "muster/service/scheduler/core.h"

// From one life of the scheduler to the next.

namespace muster::service {

using namespace engine;

Result<void> Core::replay(const Replay& to) {
  if (!journal_) return {};
  auto read = journal_->replay([&](JournalEntry entry) {
    if (auto* const record = std::get_if<JournalRecord>(&entry))
      replay_event(*record, to);
    else
      replay_service(std::move(std::get<ServiceRecord>(entry)), to);
  });
  if (!read) return fail(read.error());
  if (journal_->cut() > 0)
    logs_.note(LogLevel::warning,
               "the last {} bytes of '{}' were torn or damaged and are cut off: what they said is "
               "forgotten",
               journal_->cut(), journal_->path());
  if (*read > 0)
    logs_.note(LogLevel::info, "{} entries were read from '{}'", *read, journal_->path());
  return {};
}

void Core::replay_event(const JournalRecord& record, const Replay& to) {
  last_ = record.now;
  const auto* const submitted = std::get_if<GraphSubmitted>(&record.event);
  if (submitted == nullptr) staged_.reset();  // its graph was never submitted
  if (submitted != nullptr && staged_) {
    const StageSubmitted stage{
        staged_->session, staged_->graph, staged_->execution, {}, {}, {}, {}};
    const std::uint32_t first = scheduler_.next_task(submitted->session);
    hand_over(record);
    to.staged(stage, {first, scheduler_.next_task(submitted->session)});
  } else {
    hand_over(record);
  }
  if (const auto* const closed = std::get_if<engine::SessionClosed>(&record.event))
    tasks_.erase(closed->session);
  if (const auto* const lost = std::get_if<WorkerLost>(&record.event))
    if (WorkerEntry* const worker = workers_.find(lost->worker))
      worker->state = WorkerEntry::State::lost;
  for (const ScheduleAction& action : actions_) {
    if (const auto* const end = std::get_if<GraphEnded>(&action)) to.ended(*end);
    if (const auto* const free = std::get_if<WorkerReleased>(&action))
      if (WorkerEntry* const worker = workers_.find(free->worker)) worker->released = true;
  }
  actions_.clear();
}

void Core::replay_service(ServiceRecord record, const Replay& to) {
  if (const auto* const life = std::get_if<LifeBegan>(&record)) {
    epoch_ = life->epoch;
    first_epoch_ = life->first_epoch;
    next_session_ = life->next_session;
    workers_.reserve(life->next_worker);
  } else if (auto* const named = std::get_if<WorkerNamed>(&record)) {
    WorkerEntry entry;
    entry.id = named->worker;
    entry.name = std::move(named->name);
    entry.host = std::move(named->host);
    entry.metrics = std::move(named->metrics);
    entry.pid = named->pid;
    entry.pid_start = watch(entry.host, entry.pid);
    workers_.add(std::move(entry));
  } else if (auto* const stage = std::get_if<StageSubmitted>(&record)) {
    staged_ = std::move(*stage);
  } else if (const auto* const saved = std::get_if<SchedulerSaved>(&record)) {
    scheduler_.restore(saved->snapshot.bytes());
    last_ = saved->now;
  } else if (const auto* const tasks = std::get_if<TasksSaved>(&record)) {
    tasks_[tasks->session].load(*tasks);
  } else if (auto* const learnt = std::get_if<ShapesLearned>(&record)) {
    tasks_[learnt->task.session].learn(learnt->task.index, std::move(learnt->shapes));
  } else {
    to.record(std::move(record));
  }
}

void Core::start(comm::Proxy& proxy, Listener listener, engine::SessionId next_session) {
  {
    const std::scoped_lock telling(telling_);
    listener_ = std::move(listener);
  }
  {
    const std::scoped_lock lock(mutex_);
    staged_.reset();
    // Clocks of different lives: only differences matter, and time does not go back.
    offset_ = last_ - std::chrono::steady_clock::now().time_since_epoch().count();
    epoch_ = std::max(epoch_ + 1, static_cast<std::uint64_t>(wall_clock()));
    if (first_epoch_ == 0) first_epoch_ = epoch_;
    next_session_ = next_session;
    if (journal_)
      journal_->append(
          ServiceRecord(LifeBegan{epoch_, first_epoch_, next_session, workers_.next()}));
    grace_until_ = std::chrono::steady_clock::now() +
                   std::max<Duration>(std::chrono::seconds(10), 4 * options_.lease);
    for (auto& [id, worker] : workers_.all())
      if (!worker.is_lost()) feed(WorkerSilent{worker.id, true});
    write_journal();
  }
  {
    const std::scoped_lock sending(sending_);
    proxy_ = &proxy;
  }
  tell();
}

bool Core::wants_compaction() const {
  const std::scoped_lock lock(mutex_);
  return journal_ && journal_->failure().empty() && journal_->size() > compact_at_;
}

void Core::compact(const std::vector<ServiceRecord>& sessions, engine::SessionId next_session) {
  const std::scoped_lock lock(mutex_);
  for (auto& [session, table] : tasks_) table.sweep(session, scheduler_);
  journal_->append(ServiceRecord(LifeBegan{epoch_, first_epoch_, next_session, workers_.next()}));
  for (const auto& [id, worker] : workers_.all())
    if (!worker.is_lost())
      journal_->append(ServiceRecord(
          WorkerNamed{worker.id, worker.name, worker.host, worker.metrics, worker.pid}));
  for (const ServiceRecord& record : sessions) journal_->append(record);
  journal_->append(ServiceRecord(SchedulerSaved{now(), Buffer::take(scheduler_.snapshot())}));
  std::vector<ServiceRecord> tasks;
  for (const auto& [session, table] : tasks_) table.save(session, tasks);
  for (const ServiceRecord& record : tasks) journal_->append(record);
  const std::size_t before = journal_->size();
  if (auto ok = journal_->start_over(); !ok) {
    logs_.note(LogLevel::error,
               "the journal cannot be begun anew: {}. What runs goes on, but if the scheduler is "
               "restarted now, its sessions are lost",
               ok.error().message());
    return;
  }
  compact_at_ = std::max(options_.journal_bytes, 4 * journal_->size());
  logs_.note(LogLevel::info, "the journal of {} bytes was begun anew with {}", before,
             journal_->size());
}

}  // namespace muster::service
