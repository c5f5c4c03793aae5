#include "muster/service/worker/worker_service.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/engine/errors.h"
#include "muster/engine/storage/budget.h"
#include "muster/net/http/metrics_server.h"
#include "muster/runtime/resources.h"
#include "muster/service/errc.h"
#include "muster/service/log_ring.h"
#include "muster/service/protocol/tags.h"
#include "muster/service/worker/arena_blocks.h"
#include "muster/service/worker/chunk_keys.h"
#include "muster/service/worker/chunk_server.h"
#include "muster/service/worker/scheduler_link.h"
#include "muster/service/worker/task_runner.h"
#include "muster/service/worker/worker_metrics.h"
#include "muster/service/worker/worker_proxy.h"

namespace muster::service {

namespace {

using namespace std::chrono_literals;
using engine::ChunkId;
using engine::WorkerId;

/// How often the receiving thread looks whether it should register or stop.
constexpr Duration kLook = 100ms;
constexpr std::size_t kServingThreads = 2;
/// Of the log, where nobody says how many.
constexpr std::size_t kLines = 100;
/// Blocks of the heap that are kept for the next kernel: this part of the budget, and no more.
constexpr std::size_t kHeapPart = 8;
constexpr std::size_t kMostHeap = std::size_t{256} << 20;

Result<engine::StoreOptions> store_options(const WorkerOptions& options) {
  engine::StoreOptions store = options.store;
  if (store.budget > 0) return store;
  const auto budget = engine::cache_budget({.memory = usable_memory()});
  if (!budget) return fail(budget.error());
  store.budget = *budget;
  return store;
}

Answer unknown(const std::string& verb) {
  return {404,
          {{"error", fmt::format("a worker does not know the verb '{}'; it knows logs, metrics and "
                                 "status",
                                 verb)},
           {"kind", "ValueError"}},
          {}};
}

std::string error_text(const Answer& answer) {
  const auto error = answer.body.find("error");
  return error != answer.body.end() && error->is_string() ? error->get<std::string>()
                                                          : answer.body.dump();
}

}  // namespace

class WorkerService::Impl {
 public:
  Impl(const WorkerOptions& options, comm::Proxy proxy, std::shared_ptr<engine::ChunkStore> store,
       WorkerPython python)
      : threads_(options.threads == 0 ? usable_processors() : options.threads),
        absence_(options.absence),
        host_(options.role.host),
        proxy_(std::move(proxy)),
        store_(std::move(store)),
        capacity_(store_->stats().capacity),
        reporter_(threads_, {[this](const Reports& reports) { return send(reports); },
                             [this](ChunkId chunk) { return store_->contains(key_of(chunk)); },
                             [this] { return std::uint64_t{store_->bytes_on_disk()}; }}),
        peers_(proxy_),
        fetcher_(options.fetches, peers_, *store_, reporter_, counters_),
        server_(
            kServingThreads,
            [this](const comm::Message& request, comm::Body body) {
              reply(request, std::move(body));
            },
            *store_, reporter_, counters_),
        execution_({store_,
                    engine::Memory::make(std::min(capacity_ / kHeapPart, kMostHeap),
                                         std::make_shared<ArenaBlocks>(store_)),
                    std::move(python), counters_}),
        runner_(threads_, execution_, fetcher_, reporter_, counters_) {}

  ~Impl() { stop(); }

  Result<void> begin(const WorkerOptions& options) {
    if (options.metrics_port != 0) {
      auto server =
          net::MetricsServer::start(host_, options.metrics_port, [this] { return metrics(); });
      if (!server) return fail(server.error().within("serve metrics"));
      metrics_server_ = *std::move(server);
    }
    listening_ = std::jthread([this](const std::stop_token& stop) { listen(stop); });
    return {};
  }

  void stop() {
    if (stopped_.exchange(true)) return;
    listening_.request_stop();
    reporter_.pause();
    if (metrics_server_) metrics_server_->stop();
    store_->stop();  // whoever waits for room goes home
    runner_.stop();
    reporter_.stop();
    proxy_.close();
    if (listening_.joinable()) listening_.join();
    fetcher_.stop();
    server_.stop();
  }

  Result<void> leave(Duration most) {
    const TimePoint until = SteadyClock().now() + most;
    std::unique_lock lock(mutex_);
    leaving_ = true;
    reporter_.add(engine::WorkerLeaving{});
    reporter_.flush();
    const auto over = [&] { return released_ || scheduler_ended_ || !alive_; };
    TimePoint now = SteadyClock().now();
    // One that is killed may be started again. One that is there may be busy, and say nothing.
    TimePoint seen = now;
    while (!over() && now < std::min(until, seen + absence_)) {
      changed_.wait_until(lock, std::min(until, now + kLook), over);
      now = SteadyClock().now();
      if (scheduler_there_) seen = now;
    }
    if (released_) return {};
    if (!alive_)
      return fail(Errc::closed,
                  fmt::format("worker '{}' cannot hand its data over: {}", proxy_.name().view(),
                              why_gone_.empty() ? "it was stopped" : why_gone_));
    if (scheduler_ended_ || now < until)
      return fail(Errc::unreachable,
                  fmt::format("worker '{}' cannot hand its data over: the scheduler has stopped{}",
                              proxy_.name().view(), scheduler_ended_ ? "" : " without a word"));
    return fail(Errc::timeout, fmt::format("the scheduler did not release worker '{}' within {} s",
                                           proxy_.name().view(), most / 1s));
  }

  [[nodiscard]] std::string name() const { return proxy_.name().str(); }
  [[nodiscard]] bool is_registered() const { return registered_; }
  [[nodiscard]] bool is_alive() const { return alive_; }
  [[nodiscard]] std::string why_gone() const {
    const std::scoped_lock lock(mutex_);
    return why_gone_;
  }
  [[nodiscard]] std::uint16_t metrics_port() const {
    return metrics_server_ ? metrics_server_->port() : std::uint16_t{0};
  }

  [[nodiscard]] std::string metrics() const {
    return metrics_text(counters_,
                        {threads_, runner_.accepted().size(), execution_.waiting(),
                         fetcher_.on_their_way(), registered_, execution_.python()},
                        store_->stats(), store_->bytes_on_disk());
  }

 private:
  void listen(const std::stop_token& stop) {
    while (alive_ && !stop.stop_requested()) {
      keep_registered();
      auto received = proxy_.receive_once(kLook);
      if (!received) {
        if (!stop.stop_requested())
          end(fmt::format("it left the group: {}", received.error().message()));
        break;
      }
      if (*received) take(std::move(**received));
    }
    registered_ = false;
    alive_ = false;
  }

  /// There is no cluster for this worker any more.
  void end(std::string why) {
    logs_.note(LogLevel::error, "{}", why);
    const std::scoped_lock lock(mutex_);
    why_gone_ = std::move(why);
    alive_ = false;
    changed_.notify_all();
  }

  void take(comm::Message message) {
    try {
      if (message.tag == kOrdersTag)
        obey(read_orders(message.body));
      else if (message.tag == kBeatTag)
        hear(read_beat(message.body));
      else if (message.tag == kRegisterTag && message.session_id == registration_)
        registered(read_answer(message.body));
      // The rest are requests: an answer that nobody waits for any more is not one.
      else if (message.session_stage != comm::SessionStage::request)
        return;
      else if (message.tag == kGetTag || message.tag == kPutTag || message.tag == kTakeTag)
        server_.take(std::move(message));
      else if (message.tag == kAskTag)
        reply(message, encode(answer(read_ask(message.body))));
    } catch (const engine::ArrayError& error) {
      logs_.note(LogLevel::warning, "a message of '{}' cannot be read: {}", message.source.view(),
                 error.what());
    }
  }

  void hear(const Beat& beat) {
    link_.heard(beat);
    if (beat.last) set_scheduler_ended(true);
  }
  void set_scheduler_ended(bool ended) {
    const std::scoped_lock lock(mutex_);
    scheduler_ended_ = ended;
    changed_.notify_all();
  }

  void keep_registered() {
    if (reporter_.broken()) link_.broken();
    if (const std::uint64_t version = proxy_.peers_version(); version != peers_version_) {
      peers_version_ = version;
      const auto peers = proxy_.peers();
      const auto schedulers = peers.find(Name(kSchedulerType));
      scheduler_there_ = schedulers != peers.end() && !schedulers->second.empty();
      if (!scheduler_there_) link_.broken();
    }
    if (link_.place()) return;
    registered_ = false;
    if (link_.begin(SteadyClock().now(), scheduler_there_)) register_now();
  }

  void register_now() {
    // Whatever is reported from here on comes after what the registration says.
    reporter_.pause();
    Registration registration;
    registration.name = proxy_.name().str();
    registration.host = host_;
    registration.pid = static_cast<std::uint32_t>(getpid());
    registration.threads = static_cast<std::uint32_t>(threads_);
    registration.memory = capacity_;
    if (metrics_port() != 0)
      registration.metrics = fmt::format("http://{}:{}", host_, metrics_port());
    if (const auto& before = link_.before()) {
      registration.before = before->worker;
      registration.epoch = before->epoch;
    }
    registration.running = runner_.accepted();
    for (const engine::Holding& holding : store_->holdings())
      registration.held.push_back({chunk_of(holding.key), holding.bytes});
    comm::Message message;
    message.tag = kRegisterTag;
    message.destination = kSchedulerName;
    message.body = encode(registration);
    const auto sent = proxy_.isend(std::move(message));
    if (sent)
      registration_ = sent->back();
    else
      logs_.note(LogLevel::info, "cannot register: {}", sent.error().message());
  }

  void registered(const Result<Answer>& answer) {
    if (answer && answer->status == kOtherVersion) return end(error_text(*answer));
    if (!answer || answer->status != 200 || !answer->body.contains("worker") ||
        !answer->body.contains("epoch")) {
      logs_.note(LogLevel::warning,
                 "the scheduler did not take this worker, which is Muster {}; is it of the same "
                 "version? {}",
                 this_program().version, answer ? error_text(*answer) : answer.error().message());
      return;
    }
    const SchedulerLink::Place place{answer->body["epoch"].get<std::uint64_t>(),
                                     WorkerId(answer->body["worker"].get<std::uint32_t>())};
    link_.registered(place);
    counters_.registrations += 1;
    logs_.note(LogLevel::info, "registered as number {} in epoch {}", place.worker.value(),
               place.epoch);
    reporter_.resume(place.epoch, place.worker);
    registered_ = true;
    set_scheduler_ended(false);
    const std::scoped_lock lock(mutex_);
    if (leaving_) reporter_.add(engine::WorkerLeaving{});
  }

  void obey(Orders orders) {
    if (!link_.follows({orders.epoch, orders.worker})) return;
    for (Order& order : orders.orders) std::visit([&](auto& one) { obey(one); }, order);
  }
  void obey(RunOrder& order) { runner_.run(std::move(order)); }
  void obey(const CopyOrder& order) { fetcher_.copy(order.from, order.chunks); }
  void obey(const DropOrder& order) { drop(order.chunk); }
  void obey(const CancelOrder& order) { runner_.cancel(order.task, order.attempt); }
  void obey(const ForgetOrder& order) {
    for (const ChunkId chunk : reporter_.made_by(order.task)) drop(chunk);
  }
  void obey(const CloseOrder& order) {
    runner_.cancel_session(order.session);
    fetcher_.drop_session(order.session);
    store_->drop_session(order.session.value());
  }
  void obey(const ReleaseOrder&) {
    const std::scoped_lock lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

  void drop(ChunkId chunk) {
    fetcher_.drop(chunk);
    store_->drop(key_of(chunk));
  }

  [[nodiscard]] Answer answer(const Result<Ask>& ask) const {
    if (!ask) return {400, {{"error", ask.error().message()}, {"kind", "ValueError"}}, {}};
    if (ask->verb == "metrics")
      return {200, nlohmann::json::object(), Buffer::copy_of(as_bytes(metrics()))};
    if (ask->verb == "status") return status();
    if (ask->verb == "logs") return last_lines(ask->arguments);
    return unknown(ask->verb);
  }

  [[nodiscard]] Answer last_lines(const nlohmann::json& arguments) const {
    const auto lines = arguments.find("lines");
    const std::size_t wanted = lines != arguments.end() && lines->is_number_unsigned()
                                   ? lines->get<std::size_t>()
                                   : kLines;
    return {200, {{"lines", logs_.last(wanted)}}, {}};
  }

  [[nodiscard]] Answer status() const {
    const engine::StoreStats store = store_->stats();
    const PythonPoolStats python = execution_.python();
    Answer answer;
    answer.body = {{"name", name()},
                   {"host", host_},
                   {"pid", getpid()},
                   {"threads", threads_},
                   {"registered", registered_.load()},
                   {"tasks", runner_.accepted().size()},
                   {"finished", counters_.tasks_finished.load()},
                   {"failed", counters_.tasks_failed.load()},
                   {"chunks", store.chunks},
                   {"memory", store.capacity},
                   {"used", store.used},
                   {"pinned", store.pinned},
                   {"heap", counters_.heap_bytes.load()},
                   {"spilled", store_->bytes_on_disk()},
                   {"python",
                    {{"processes", python.processes},
                     {"most", python.most},
                     {"busy", python.busy},
                     {"memory", python.memory},
                     {"calls", python.calls},
                     {"lost", python.lost}}}};
    return answer;
  }

  bool send(const Reports& reports) {
    comm::Message message;
    message.tag = kReportsTag;
    message.destination = kSchedulerName;
    message.session_type = comm::SessionType::notification;
    message.body = encode(reports);
    const auto sent = proxy_.isend(std::move(message));
    if (!sent) logs_.note(LogLevel::info, "cannot report: {}", sent.error().message());
    return sent.has_value();
  }

  void reply(const comm::Message& request, comm::Body body) {
    const auto sent = proxy_.reply(request, {}, std::move(body));
    if (!sent)
      logs_.note(LogLevel::info, "cannot answer '{}': {}", request.source.view(),
                 sent.error().message());
  }

  const std::size_t threads_;
  const Duration absence_;
  const std::string host_;
  LogRing logs_{"worker"};
  WorkerCounters counters_;
  comm::Proxy proxy_;
  const std::shared_ptr<engine::ChunkStore> store_;
  const std::size_t capacity_;
  std::atomic<bool> registered_ = false;
  std::atomic<bool> alive_ = true;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> scheduler_there_ = false;
  mutable std::mutex mutex_;  ///< guards the next four
  bool leaving_ = false;
  bool released_ = false;
  bool scheduler_ended_ = false;  ///< and no other has taken this worker since
  std::string why_gone_;
  std::condition_variable changed_;
  // Only from the receiving thread.
  SchedulerLink link_;
  std::optional<std::uint64_t> peers_version_;
  comm::SessionId registration_;

  Reporter reporter_;
  PeerChunks peers_;
  Fetcher fetcher_;
  ChunkServer server_;
  TaskExecution execution_;
  TaskRunner runner_;
  std::unique_ptr<net::MetricsServer> metrics_server_;
  std::jthread listening_;
};

WorkerService::WorkerService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkerService::~WorkerService() = default;

Result<std::unique_ptr<WorkerService>> WorkerService::start(const WorkerOptions& options,
                                                            const MakePython& make_python) {
  const auto chosen = store_options(options);
  if (!chosen) return fail(chosen.error());
  auto store = engine::ChunkStore::open(*chosen);
  if (!store) return fail(store.error().within("open the chunk store"));
  auto python = make_python(options, *store);
  if (!python) return fail(python.error().within("prepare for Python functions"));
  auto proxy = join_as_worker(options);
  if (!proxy) return fail(proxy.error());
  auto impl =
      std::make_unique<Impl>(options, *std::move(proxy), *std::move(store), *std::move(python));
  if (auto begun = impl->begin(options); !begun) return fail(begun.error());
  return std::unique_ptr<WorkerService>(new WorkerService(std::move(impl)));
}

std::string WorkerService::name() const { return impl_->name(); }
bool WorkerService::is_registered() const { return impl_->is_registered(); }
bool WorkerService::is_alive() const { return impl_->is_alive(); }
std::string WorkerService::why_gone() const { return impl_->why_gone(); }
Result<void> WorkerService::leave(Duration most) { return impl_->leave(most); }
void WorkerService::stop() { impl_->stop(); }
std::string WorkerService::metrics() const { return impl_->metrics(); }
std::uint16_t WorkerService::metrics_port() const { return impl_->metrics_port(); }

}  // namespace muster::service
