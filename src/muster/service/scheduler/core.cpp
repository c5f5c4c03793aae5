#include "muster/service/scheduler/core.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/wall_clock.h"
#include "muster/engine/errors.h"
#include "muster/service/protocol/tags.h"

// Events in, orders out. Workers that come and go are in core_members.cpp, the journal is replayed
// in core_replay.cpp.

namespace muster::service {
namespace {

using namespace engine;

// One piece of a submission: the lock is let go in between, and journal entries stay below 4 GiB.
constexpr std::size_t kPieceTasks = 50'000;
constexpr std::size_t kPieceBytes = std::size_t{256} << 20;

}  // namespace

Core::Core(CoreOptions options, std::unique_ptr<JournalFile> journal, LogRing& logs, News& news)
    : options_(options),
      logs_(logs),
      news_(news),
      journal_(std::move(journal)),
      scheduler_(options.schedule),
      compact_at_(options.journal_bytes) {}

Instant Core::now() const {
  return offset_ + std::chrono::steady_clock::now().time_since_epoch().count();
}

void Core::feed(ScheduleEvent event, Finished finished) {
  const JournalRecord record{now(), std::move(event)};
  if (journal_) journal_->append(record);
  hand_over(record);
  carry_out(finished);
}

void Core::hand_over(const JournalRecord& record) {
  busy_ = true;
  const auto* const submitted = std::get_if<GraphSubmitted>(&record.event);
  const std::uint32_t before = submitted ? scheduler_.next_task(submitted->session) : 0;
  scheduler_.handle(record.now, record.event, actions_);
  if (submitted == nullptr || !staged_) return;
  // A graph that was refused has left no tasks.
  if (scheduler_.next_task(submitted->session) != before) tasks_[submitted->session].add(*staged_);
  staged_.reset();
}

void Core::carry_out(Finished finished) {
  for (ScheduleAction& action : actions_) {
    if (auto* const ended = std::get_if<GraphEnded>(&action)) {
      if (finished == Finished::tell || ended->outcome != GraphOutcome::finished)
        told_.ended.push_back(std::move(*ended));
    } else {
      std::visit([this](auto& each) { act(each); }, action);
    }
  }
  actions_.clear();
}

void Core::act(CopyChunks& copy) {
  const WorkerEntry* const from = workers_.find(copy.from);
  if (from != nullptr) order(copy.to, CopyOrder{from->name, std::move(copy.chunks)});
}

void Core::act(WorkerReleased& released) {
  if (WorkerEntry* const worker = workers_.find(released.worker)) worker->released = true;
  order(released.worker, ReleaseOrder{});
}

void Core::order(WorkerId id, Order order) {
  WorkerEntry* const worker = workers_.find(id);
  if (worker == nullptr) return;
  // One that registers again says what it has, and learns then what to do.
  if (worker->state != WorkerEntry::State::registered &&
      worker->state != WorkerEntry::State::joining)
    return;
  worker->orders.push_back(std::move(order));
}

void Core::act(RunTask& run) {
  const auto table = tasks_.find(run.task.session);
  const TaskTable::Entry* const entry =
      table == tasks_.end() ? nullptr : table->second.find(run.task.index);
  if (entry == nullptr) {
    logs_.note(LogLevel::error, "task {} of session {} is to run, but nobody knows what it does",
               run.task.index, run.task.session.value());
    return;
  }
  RunOrder out{run.task, run.attempt, entry->first_output, {}, entry->body};
  out.inputs.reserve(run.inputs.size());
  for (const InputPlace& input : run.inputs) {
    const WorkerEntry* const from = input.from == run.worker ? nullptr : workers_.find(input.from);
    out.inputs.push_back(
        {{run.task.session, input.chunk}, from == nullptr ? std::string() : from->name});
  }
  order(run.worker, std::move(out));
}

void Core::write_journal() {
  if (!journal_) return;
  if (auto ok = journal_->flush(); !ok)
    logs_.note(
        LogLevel::error,
        "the journal cannot be written any more: {}. What runs goes on, but if the scheduler "
        "is restarted now, its sessions are lost",
        ok.error().message());
}

void Core::note(const ServiceRecord& record) {
  const std::scoped_lock lock(mutex_);
  if (!journal_) return;
  journal_->append(record);
  write_journal();
}

std::uint32_t Core::next_chunk(engine::SessionId session) const {
  const std::scoped_lock lock(mutex_);
  return scheduler_.next_chunk(session);
}

void Core::submit(engine::SessionId session, GraphId graph, const std::string& execution,
                  Stage stage, bool last, const std::function<void(Range)>& numbered) {
  Range range;
  std::size_t at = 0;
  bool first = true;
  do {
    StageSubmitted piece{session, graph, execution, {}, {}, {}, {}};
    GraphSubmitted event{session, graph, stage.operator_names, {}, {}, false};
    std::size_t bytes = 0;
    std::uint32_t shared = 0xFFFFFFFFu;  // the body that the last task had
    for (; at < stage.tasks.size() && event.tasks.size() < kPieceTasks && bytes < kPieceBytes;
         ++at) {
      const StagedTask& staged = stage.staged[at];
      if (staged.body != shared) {
        shared = staged.body;
        piece.bodies.push_back(stage.bodies[shared]);
        bytes += piece.bodies.back().size();
      }
      piece.body_of.push_back(static_cast<std::uint32_t>(piece.bodies.size() - 1));
      piece.first_output.push_back(staged.first_output);
      piece.step.push_back(staged.step | (staged.learns ? kLearns : 0));
      event.tasks.push_back(std::move(stage.tasks[at]));
    }
    const bool final = at == stage.tasks.size();
    if (final) event.wanted = std::move(stage.wanted);
    event.last = final && last;
    {
      const std::scoped_lock lock(mutex_);
      if (first) range.first = range.last = scheduler_.next_task(session);
      if (journal_) journal_->append(ServiceRecord(piece));
      staged_ = std::move(piece);
      counters_.submitted += event.tasks.size();
      feed(std::move(event), final ? Finished::tell : Finished::ignore);
      range.last = scheduler_.next_task(session);
      if (final && numbered) numbered(range);
      write_journal();
    }
    first = false;
  } while (at < stage.tasks.size());
  flush();
  tell();
}

void Core::release(engine::SessionId session, GraphId graph, std::vector<std::uint32_t> chunks) {
  {
    const std::scoped_lock lock(mutex_);
    feed(ChunksReleased{session, graph, std::move(chunks)});
    sweep_due_ = true;
    write_journal();
  }
  flush();
  tell();
}

void Core::cancel(engine::SessionId session, GraphId graph) {
  {
    const std::scoped_lock lock(mutex_);
    feed(GraphCancelled{session, graph});
    sweep_due_ = true;
    write_journal();
  }
  flush();
  tell();
}

void Core::close(engine::SessionId session) {
  {
    const std::scoped_lock lock(mutex_);
    const JournalRecord record{now(), engine::SessionClosed{session}};
    if (journal_) journal_->append(record);
    hand_over(record);
    // One order for all chunks.
    std::erase_if(actions_, [&](const ScheduleAction& action) {
      const auto* const drop = std::get_if<DropChunk>(&action);
      return drop != nullptr && drop->chunk.session == session;
    });
    carry_out(Finished::tell);
    for (const auto& [id, worker] : workers_.all()) order(worker.id, CloseOrder{session});
    tasks_.erase(session);
    write_journal();
  }
  flush();
  tell();
}

std::optional<Shape> Core::learnt(ChunkId chunk) const {
  const std::scoped_lock lock(mutex_);
  const auto view = scheduler_.chunk(chunk);
  const auto table = tasks_.find(chunk.session);
  if (!view || table == tasks_.end()) return std::nullopt;
  const std::vector<Shape>* const shapes = table->second.shapes(view->task);
  if (shapes == nullptr || view->output >= shapes->size()) return std::nullopt;
  return (*shapes)[view->output];
}

void Core::reports(std::vector<std::pair<Name, Reports>> batch) {
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [source, reports] : batch) {
      WorkerEntry* const worker = workers_.find(reports.worker);
      if (reports.epoch != epoch_ || worker == nullptr || worker->is_lost() ||
          worker->name != source.view())
        continue;
      for (Report& report : reports.reports) take_report(*worker, report);
    }
    write_journal();
  }
  flush();
  tell();
}

void Core::take_report(WorkerEntry& worker, Report& report) {
  const bool own = std::visit(
                       [&](const auto& event) {
                         if constexpr (requires { event.worker; }) return event.worker == worker.id;
                         return false;
                       },
                       report.event) &&
                   !std::holds_alternative<WorkerJoined>(report.event) &&
                   !std::holds_alternative<WorkerLost>(report.event) &&
                   !std::holds_alternative<WorkerSilent>(report.event);
  if (!own) {
    logs_.note(LogLevel::warning, "worker '{}' reported what is not its own", worker.name);
    return;
  }
  if (const auto* const done = std::get_if<TaskFinished>(&report.event)) {
    ++worker.tasks;
    ++counters_.finished;
    std::uint64_t bytes = 0;
    for (const std::uint64_t each : done->output_bytes) bytes += each;
    counters_.made_bytes += bytes;
    const auto table = tasks_.find(done->task.session);
    if (table != tasks_.end()) {
      const TaskTable::Entry* const entry = table->second.find(done->task.index);
      if (entry != nullptr && entry->learns && !report.shapes.empty()) {
        if (journal_) journal_->append(ServiceRecord(ShapesLearned{done->task, report.shapes}));
        table->second.learn(done->task.index, report.shapes);
      }
    }
    tell_news(report, News::Kind::finished, done->task, done->attempt, worker.id, bytes, {});
  } else if (const auto* const failed = std::get_if<TaskFailed>(&report.event)) {
    ++counters_.failed;
    if (failed->fault != TaskFault::inputs_missing)
      logs_.note(LogLevel::info, "task {} of session {} failed on '{}': {}", failed->task.index,
                 failed->task.session.value(), worker.name, failed->message);
    tell_news(report, News::Kind::failed, failed->task, failed->attempt, worker.id, 0,
              failed->message);
  } else if (const auto* const started = std::get_if<TaskStarted>(&report.event)) {
    tell_news(report, News::Kind::started, started->task, started->attempt, worker.id, 0, {});
  } else if (const auto* const memory = std::get_if<MemoryReported>(&report.event)) {
    tell_news(report, News::Kind::memory, {}, 0, worker.id, memory->spilled, {});
  } else if (std::holds_alternative<WorkerLeaving>(report.event)) {
    logs_.note(LogLevel::info, "worker '{}' leaves", worker.name);
    tell_news(News::Kind::leaving, worker);
  }
  feed(std::move(report.event));
}

void Core::tell_news(const Report& report, News::Kind kind, TaskId task, std::uint64_t attempt,
                     WorkerId worker, std::uint64_t bytes, std::string text) {
  if (!news_.wanted()) return;
  news_.add({kind, worker, task, attempt, bytes, report.thread, report.started, report.ended,
             std::move(text)});
}

void Core::tell_news(News::Kind kind, const WorkerEntry& worker) {
  News::Item item{};
  item.kind = kind;
  item.worker = worker.id;
  item.started = wall_clock<std::chrono::nanoseconds>();
  item.text = worker.name;
  news_.add(std::move(item));
}

void Core::pass_time() {
  {
    const std::scoped_lock lock(mutex_);
    const ScheduleCounts counts = scheduler_.counts();
    if (busy_ || counts.attempts > 0 || counts.resting > 0) {
      feed(TimePassed{});
      busy_ = false;
    }
    const TimePoint at = std::chrono::steady_clock::now();
    if (sweep_due_ && at >= sweep_at_) {
      sweep_due_ = false;
      sweep_at_ = at + std::chrono::seconds(2);
      for (auto& [session, table] : tasks_) table.sweep(session, scheduler_);
    }
    write_journal();
  }
  flush();
  tell();
}

std::size_t Core::threads() const {
  const std::scoped_lock lock(mutex_);
  std::size_t threads = 0;
  for (const auto& [id, worker] : workers_.all())
    if (!worker.is_lost()) threads += scheduler_.worker(worker.id).threads;
  return threads;
}

std::size_t Core::memory_per_thread() const {
  const std::scoped_lock lock(mutex_);
  std::size_t least = 0;
  for (const auto& [id, worker] : workers_.all()) {
    if (worker.is_lost()) continue;
    const engine::WorkerView view = scheduler_.worker(worker.id);
    const std::size_t each = view.budget / std::max<std::uint32_t>(1, view.threads);
    least = least == 0 ? each : std::min(least, each);
  }
  return least;
}

void Core::flush() {
  const std::scoped_lock sending(sending_);
  if (proxy_ == nullptr) return;
  std::vector<std::pair<std::string, Orders>> batch;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [id, worker] : workers_.all()) {
      if (worker.orders.empty() || worker.state != WorkerEntry::State::registered) continue;
      counters_.orders += worker.orders.size();
      ++counters_.messages;
      batch.emplace_back(worker.name, Orders{epoch_, worker.id, std::exchange(worker.orders, {})});
    }
  }
  for (const auto& [name, orders] : batch) {
    comm::Message message;
    message.tag = kOrdersTag;
    message.destination = name;
    message.session_type = comm::SessionType::notification;
    message.body = encode(orders);
    if (auto sent = proxy_->isend(std::move(message)); !sent) {
      const std::scoped_lock lock(mutex_);
      WorkerEntry* const worker = workers_.find(orders.worker);
      if (worker == nullptr || worker->state != WorkerEntry::State::registered) continue;
      logs_.note(LogLevel::warning, "{} orders to worker '{}' are lost: {}", orders.orders.size(),
                 name, sent.error().message());
      worker->state = WorkerEntry::State::stale;
      worker->orders.clear();
    }
  }
}

void Core::tell() {
  const std::scoped_lock telling(telling_);
  Told told;
  {
    const std::scoped_lock lock(mutex_);
    std::swap(told, told_);
  }
  for (const GraphProgress& progress : told.progress)
    if (listener_.progressed) listener_.progressed(progress);
  for (const GraphEnded& ended : told.ended)
    if (listener_.ended) listener_.ended(ended);
}

void Core::stop() {
  const std::scoped_lock sending(sending_);
  proxy_ = nullptr;
}

}  // namespace muster::service
