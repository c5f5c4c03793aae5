#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/engine/schedule/scheduler.h"
#include "muster/service/log_ring.h"
#include "muster/service/protocol/orders.h"
#include "muster/service/protocol/reports.h"
#include "muster/service/scheduler/journal_file.h"
#include "muster/service/scheduler/news.h"
#include "muster/service/scheduler/stager.h"
#include "muster/service/scheduler/task_table.h"
#include "muster/service/scheduler/worker_table.h"

namespace muster::service {

struct CoreOptions {
  engine::ScheduleOptions schedule;
  Duration lease = std::chrono::seconds(3);
  std::size_t journal_bytes = std::size_t{16} << 20;  ///< as in SchedulerOptions
  std::string host = "127.0.0.1";  ///< processes of workers on the same one are watched
};

/// Since this life began.
struct CoreCounters {
  std::uint64_t submitted = 0;  ///< tasks
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t made_bytes = 0;
  std::uint64_t orders = 0;
  std::uint64_t messages = 0;  ///< that they went in
  std::uint64_t workers_lost = 0;
};

/// The engine's scheduler and what surrounds it: every event is written to the journal, handed
/// over, and what is to be done is sent, one message for each worker. Thread-safe. Nobody is called
/// while a lock is held.
class Core {
 public:
  struct Listener {
    std::function<void(const engine::GraphEnded&)> ended;
    std::function<void(const engine::GraphProgress&)> progressed;
  };

  /// Numbers of tasks.
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };

  /// Without a journal nothing outlives the process. `logs` and `news` outlive this.
  Core(CoreOptions options, std::unique_ptr<JournalFile> journal, LogRing& logs, News& news);

  // Before start(), from one thread.
  /// Reads the journal and tells of what is not the core's own.
  struct Replay {
    std::function<void(ServiceRecord)> record;
    std::function<void(const StageSubmitted&, Range)> staged;  ///< without bodies
    std::function<void(const engine::GraphEnded&)> ended;
  };
  [[nodiscard]] Result<void> replay(const Replay& to);
  /// A new epoch begins. The proxy must outlive the use of this; `stop` ends that.
  void start(comm::Proxy& proxy, Listener listener, engine::SessionId next_session);
  /// Nothing is sent any more.
  void stop();

  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

  // From sessions.
  void note(const ServiceRecord& record);
  /// The number of the next chunk. Valid while the caller keeps others from submitting to the
  /// session.
  [[nodiscard]] std::uint32_t next_chunk(engine::SessionId session) const;
  /// Tells the tasks' numbers before the graph can end. One that cannot be taken ends at once.
  void submit(engine::SessionId session, engine::GraphId graph, const std::string& execution,
              Stage stage, bool last, const std::function<void(Range)>& numbered = {});
  void release(engine::SessionId session, engine::GraphId graph, std::vector<std::uint32_t> chunks);
  void cancel(engine::SessionId session, engine::GraphId graph);
  void close(engine::SessionId session);
  /// The sizes of a chunk, if a task reported them.
  [[nodiscard]] std::optional<engine::Shape> learnt(engine::ChunkId chunk) const;

  // From the network.
  void reports(std::vector<std::pair<Name, Reports>> batch);
  /// Calls `reply` with the number before anything is sent to the worker under it.
  void join(const Registration& registration, const std::function<bool(engine::WorkerId)>& reply);
  /// Who is seen now.
  void see(const std::vector<Name>& workers);
  void pass_time();
  [[nodiscard]] std::vector<std::pair<Name, Beat>> beats(const std::vector<Name>& workers) const;

  /// Whether the journal has grown so much that it should begin anew.
  [[nodiscard]] bool wants_compaction() const;
  /// Begins the journal anew: with `sessions`, which say what the sessions remember, and with what
  /// the core does. `next_session` as in start().
  void compact(const std::vector<ServiceRecord>& sessions, engine::SessionId next_session);

  // For those who look. `look` is called with everything held still.
  struct View {
    const engine::Scheduler& scheduler;
    const WorkerTable& workers;
    const std::map<engine::SessionId, TaskTable>& tasks;
    const CoreCounters& counters;
    std::size_t journal_bytes;
    const std::string& journal_failure;
    engine::Instant now;
  };
  template <class Look>
  auto look(Look&& look_at) const {
    const std::scoped_lock lock(mutex_);
    const std::string failure = journal_ ? journal_->failure() : "there is no journal";
    return look_at(View{scheduler_, workers_, tasks_, counters_, journal_ ? journal_->size() : 0,
                        failure, now()});
  }
  [[nodiscard]] std::size_t threads() const;
  /// What a thread of the least of all workers may take of its budget; 0 without workers.
  [[nodiscard]] std::size_t memory_per_thread() const;

 private:
  enum class Finished : bool { tell, ignore };
  struct Told {
    std::vector<engine::GraphEnded> ended;
    std::vector<engine::GraphProgress> progress;
  };

  // `mutex_` must be held.
  [[nodiscard]] engine::Instant now() const;
  void feed(engine::ScheduleEvent event, Finished finished = Finished::tell);
  void hand_over(const engine::JournalRecord& record);
  void carry_out(Finished finished);
  void order(engine::WorkerId worker, Order order);
  void act(engine::RunTask& run);
  void act(engine::CopyChunks& copy);
  void act(engine::DropChunk& drop) { order(drop.worker, DropOrder{drop.chunk}); }
  void act(engine::CancelTask& cancel) {
    order(cancel.worker, CancelOrder{cancel.task, cancel.attempt});
  }
  void act(engine::ForgetTask& forget) { order(forget.worker, ForgetOrder{forget.task}); }
  void act(engine::WorkerReleased& released);
  void act(engine::GraphProgress& progress) { told_.progress.push_back(progress); }
  void act(engine::GraphEnded&) {}
  void take_report(WorkerEntry& worker, Report& report);
  void tell_news(const Report& report, News::Kind kind, engine::TaskId task, std::uint64_t attempt,
                 engine::WorkerId worker, std::uint64_t bytes, std::string text);
  void tell_news(News::Kind kind, const WorkerEntry& worker);
  WorkerEntry& admit(const Registration& registration);
  void lose(WorkerEntry& worker, bool crashed, const std::string& why);
  void look_for(WorkerEntry& worker, bool is_there);
  [[nodiscard]] bool is_local(const std::string& host) const;
  /// When the worker's process began; 0 if it cannot be watched from here.
  [[nodiscard]] std::uint64_t watch(const std::string& host, std::uint32_t pid) const;
  void write_journal();
  void replay_service(ServiceRecord record, const Replay& to);
  void replay_event(const engine::JournalRecord& record, const Replay& to);

  /// After the lock was let go: sends, tells, in order.
  void flush();
  void tell();

  const CoreOptions options_;
  LogRing& logs_;
  News& news_;

  mutable std::mutex mutex_;  ///< guards what follows
  std::unique_ptr<JournalFile> journal_;
  engine::Scheduler scheduler_;
  engine::ScheduleActions actions_;
  std::map<engine::SessionId, TaskTable> tasks_;
  std::optional<StageSubmitted> staged_;  ///< replayed, and its GraphSubmitted is to come
  WorkerTable workers_;
  CoreCounters counters_;
  Told told_;
  bool busy_ = false;         ///< something happened since time passed last
  engine::Instant last_ = 0;  ///< of the journal that was replayed
  engine::Instant offset_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t first_epoch_ = 0;
  engine::SessionId next_session_;
  std::size_t compact_at_;  ///< bytes of the journal
  TimePoint sweep_at_{};
  bool sweep_due_ = false;
  TimePoint grace_until_{};  ///< former workers may come back until then

  std::mutex sending_;  ///< held while orders are sent, so that they stay in order; before `mutex_`
  comm::Proxy* proxy_ = nullptr;  ///< from start() to stop(); `sending_` must be held
  std::mutex telling_;            ///< likewise for the listener
  Listener listener_;
};

}  // namespace muster::service
