#include "muster/service/scheduler/scheduler_service.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <pwd.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/discovery/served/store_server.h"
#include "muster/net/http/metrics_server.h"
#include "muster/service/errc.h"
#include "muster/service/log_ring.h"
#include "muster/service/protocol/ask.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/protocol/orders.h"
#include "muster/service/protocol/reports.h"
#include "muster/service/protocol/tags.h"
#include "muster/service/scheduler/asks.h"
#include "muster/service/scheduler/core.h"
#include "muster/service/scheduler/job_pool.h"
#include "muster/service/scheduler/news.h"
#include "muster/service/scheduler/sessions.h"

namespace muster::service {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTick = 100ms;
constexpr Duration kBeat = 1s;
// Messages that are taken together before anything is sent.
constexpr int kBatch = 256;
constexpr std::size_t kAskThreads = 4;
constexpr std::size_t kMostAsks = 4096;

std::string state_folder() {
  if (const char* const state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/')
    return std::string(state) + "/muster";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/')
    if (const passwd* const user = ::getpwuid(::getuid())) home = user->pw_dir;
  return std::string(home == nullptr ? "/tmp" : home) + "/.local/state/muster";
}

SchedulerOptions with_secret(SchedulerOptions options) {
  std::string& secret = options.role.security.secret;
  if (const char* const given = std::getenv("MUSTER_SECRET"); given != nullptr && secret.empty())
    secret = given;
  return options;
}

comm::ProxyOptions proxy_options(const RoleOptions& role, std::shared_ptr<comm::Store> store) {
  comm::ProxyOptions options;
  options.group = kGroup;
  options.type = kSchedulerType;
  options.name = kSchedulerName;
  options.driver = role.driver;
  options.store = std::move(store);
  options.security = role.security;
  options.lease = role.lease;
  options.join_timeout = 30s;
  options.linger = 1s;
  // A worker that takes nothing any more must not hold the others up.
  options.send_timeout = 1s;
  // Workers and webs come when they come.
  options.expected_peers = {{std::string(kWorkerType), 0}};
  options.rejoin.enabled = true;
  options.rejoin.max_rejoins = 1'000'000'000;
  options.rejoin.minimal_peers_timeout = Duration::zero();
  if (role.driver == "auto" || role.driver == "zmq") options.driver_options["zmq.host"] = role.host;
  return options;
}

}  // namespace

class SchedulerService::Impl {
 public:
  explicit Impl(const SchedulerOptions& options)
      : options_(with_secret(options)), logs_("scheduler"), asking_(kAskThreads, kMostAsks) {}
  ~Impl() { stop(); }

  Result<void> start() {
    std::shared_ptr<comm::Store> store = options_.role.store;
    if (!store) {
      auto served = serve_store();
      if (!served) return fail(served.error());
      store = *std::move(served);
    }
    auto journal = open_journal();
    if (!journal) return fail(journal.error());
    core_.emplace(CoreOptions{options_.schedule, options_.role.lease, options_.journal_bytes,
                              options_.role.host},
                  *std::move(journal), logs_, news_);
    sessions_.emplace(*core_, logs_, options_.executions);
    asks_.emplace(*core_, *sessions_, logs_);
    if (auto ok = core_->replay(sessions_->replaying()); !ok) return ok;
    auto proxy = comm::Proxy::join(proxy_options(options_.role, std::move(store)));
    if (!proxy) return fail(proxy.error().within("the scheduler cannot join its cluster"));
    proxy_.emplace(*std::move(proxy));
    core_->start(
        *proxy_,
        {[this](const engine::GraphEnded& ended) { sessions_->graph_ended(ended); },
         [this](const engine::GraphProgress& progress) { sessions_->graph_progressed(progress); }},
        sessions_->next_session());
    sessions_->start([this](engine::ChunkId chunk) { return fetch_shape(chunk); },
                     [this](const comm::Message& question, const nlohmann::json& status) {
                       reply(question, {200, status, {}});
                     });
    if (options_.metrics_port != 0) {
      auto metrics = net::MetricsServer::start(options_.role.host, options_.metrics_port,
                                               [this] { return metrics_text(*core_, *sessions_); });
      if (!metrics) return fail(metrics.error().within("metrics"));
      metrics_ = *std::move(metrics);
    }
    loop_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    return {};
  }

  void stop() {
    if (stopped_.exchange(true)) return;
    loop_.request_stop();
    if (loop_.joinable()) loop_.join();
    asking_.stop();
    if (metrics_) metrics_->stop();
    if (sessions_) sessions_->stop();
    if (core_) core_->stop();
    if (proxy_) {
      send_beats(Last::yes);
      proxy_->close();
    }
    if (server_) server_->stop();
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  Result<std::shared_ptr<comm::Store>> serve_store() {
    auto server =
        comm::StoreServer::start({options_.role.host, options_.role.port, options_.role.security});
    if (!server)
      return fail(server.error().within(fmt::format("the scheduler cannot listen on {}:{}",
                                                    options_.role.host, options_.role.port)));
    server_ = *std::move(server);
    port_ = server_->port();
    return server_->local_store();
  }

  Result<std::unique_ptr<JournalFile>> open_journal() {
    std::string folder = options_.journal_dir;
    if (folder.empty()) {
      if (options_.role.store) return std::unique_ptr<JournalFile>();
      folder = fmt::format("{}/scheduler-{}-{}", state_folder(), options_.role.host, port_);
    }
    return JournalFile::open(folder);
  }

  void run(const std::stop_token& stop) {
    TimePoint tick = std::chrono::steady_clock::now();
    TimePoint beat = tick;
    while (!stop.stop_requested()) {
      const TimePoint now = std::chrono::steady_clock::now();
      if (now >= tick) {
        tick = now + kTick;
        pass_time(now);
        if (now >= beat) {
          beat = now + kBeat;
          send_beats();
        }
      }
      take_messages(std::max<Duration>(tick - std::chrono::steady_clock::now(), Duration::zero()));
    }
  }

  void pass_time(TimePoint now) {
    auto peers = proxy_->peers();
    workers_ = std::move(peers[Name(kWorkerType)]);
    core_->see(workers_);
    core_->pass_time();
    sessions_->pass_time(now);
    const std::vector<Name>& webs = peers[Name(kWebType)];
    news_.listen(!webs.empty());
    if (const auto lines = news_.take(); lines && !webs.empty())
      (void)proxy_->ibroadcast(kWebType, comm::Tag(kNewsTag), comm::SessionType::notification,
                               comm::Body::text(*lines));
  }

  enum class Last : bool { no, yes };
  void send_beats(Last last = Last::no) {
    for (auto& [name, beat] : core_->beats(workers_)) {
      beat.last = last == Last::yes;
      comm::Message message;
      message.tag = kBeatTag;
      message.destination = name;
      message.session_type = comm::SessionType::notification;
      message.body = encode(beat);
      (void)proxy_->isend(std::move(message));
    }
  }

  /// Reports of many workers are handled together, so that what follows goes out in few messages.
  void take_messages(Duration wait) {
    std::vector<std::pair<Name, Reports>> reports;
    for (int taken = 0; taken < kBatch; ++taken) {
      auto received = proxy_->receive_once(taken == 0 ? wait : Duration::zero());
      if (!received) {
        if (!stopped_)
          logs_.note(LogLevel::error, "nothing can be received: {}", received.error().message());
        std::this_thread::sleep_for(kTick);  // so that a broken proxy does not make this spin
        break;
      }
      if (!*received) break;
      comm::Message& message = **received;
      if (message.tag == kReportsTag) {
        take_reports(message, reports);
        continue;
      }
      // What a worker reported before it registers comes first.
      if (!reports.empty()) core_->reports(std::exchange(reports, {}));
      take_message(std::move(message));
    }
    if (!reports.empty()) core_->reports(std::move(reports));
  }

  void take_reports(const comm::Message& message, std::vector<std::pair<Name, Reports>>& into) {
    try {
      into.emplace_back(message.source, read_reports(message.body));
    } catch (const std::exception& error) {
      logs_.note(LogLevel::warning, "reports of '{}' cannot be read: {}", message.source.view(),
                 error.what());
    }
  }

  void take_message(comm::Message message) {
    if (message.tag == kRegisterTag) {
      register_worker(message);
    } else if (message.tag == kAskTag) {
      auto question = std::make_shared<comm::Message>(std::move(message));
      if (!asking_.post([this, question] { answer(*question); }))
        reply(*question, {503, {{"error", "the scheduler is too busy to answer"}}, {}});
    } else if (message.session_type == comm::SessionType::task &&
               message.session_stage == comm::SessionStage::request) {
      reply(message,
            {404,
             {{"error", fmt::format("the scheduler does not know '{}'", message.tag.view())}},
             {}});
    }
  }

  void register_worker(const comm::Message& message) {
    try {
      if (const auto why = refusal(message.source.view(), sender_of(message.body))) {
        logs_.note(LogLevel::warning, "{}", *why);
        reply(message, {kOtherVersion, {{"error", *why}}, {}});
        return;
      }
      const Registration registration = read_registration(message.body);
      if (registration.name != message.source.view()) {
        reply(message, {400, {{"error", "a worker registers under its own name"}}, {}});
        return;
      }
      core_->join(registration, [&](engine::WorkerId id) {
        return reply(message, {200, {{"worker", id.value()}, {"epoch", core_->epoch()}}, {}});
      });
    } catch (const std::exception& error) {
      reply(message, {400, {{"error", error.what()}}, {}});
    }
  }

  void answer(const comm::Message& question) {
    const auto ask = read_ask(question.body);
    if (!ask) {
      reply(question, {400, {{"error", ask.error().message()}}, {}});
      return;
    }
    if (const auto answer = asks_->answer(*ask, question)) reply(question, *answer);
  }

  bool reply(const comm::Message& question, const Answer& answer) {
    return proxy_->reply(question, comm::Tag(), encode(answer)).has_value();
  }

  /// Asks a holder for the chunk, whose header has its sizes.
  std::optional<engine::Shape> fetch_shape(engine::ChunkId chunk) {
    const auto holder = core_->look([&](const Core::View& view) -> std::string {
      const auto seen = view.scheduler.chunk(chunk);
      if (!seen) return {};
      for (const engine::WorkerId id : seen->holders)
        if (const WorkerEntry* const worker = view.workers.find(id)) return worker->name;
      return {};
    });
    if (holder.empty()) return std::nullopt;
    comm::Message message;
    message.tag = kGetTag;
    message.destination = holder;
    message.body = encode(GetChunks{{chunk}});
    auto replies = proxy_->send(std::move(message), 20s);
    if (!replies || replies->messages.empty()) return std::nullopt;
    try {
      const GotChunks got = read_got(replies->messages.front().body, 1);
      if (got.chunks.size() != 1 || got.chunks.front().empty()) return std::nullopt;
      return read_chunk_header(got.chunks.front().bytes()).shape;
    } catch (const std::exception& error) {
      logs_.note(LogLevel::warning, "chunk {} from '{}' cannot be read: {}", chunk.index, holder,
                 error.what());
      return std::nullopt;
    }
  }

  const SchedulerOptions options_;
  LogRing logs_;
  News news_;
  std::uint16_t port_ = 0;
  std::unique_ptr<comm::StoreServer> server_;
  std::optional<comm::Proxy> proxy_;
  std::optional<Core> core_;
  std::optional<Sessions> sessions_;
  std::optional<Asks> asks_;
  std::vector<Name> workers_;  ///< that are seen; the loop's
  JobPool asking_;
  std::unique_ptr<net::MetricsServer> metrics_;
  std::atomic<bool> stopped_ = false;
  std::jthread loop_;
};

SchedulerService::SchedulerService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SchedulerService::~SchedulerService() = default;

Result<std::unique_ptr<SchedulerService>> SchedulerService::start(const SchedulerOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  if (auto ok = impl->start(); !ok) return fail(ok.error());
  return std::unique_ptr<SchedulerService>(
      new SchedulerService(std::move(impl)));  // NOLINT: the constructor is private
}

void SchedulerService::stop() { impl_->stop(); }
std::uint16_t SchedulerService::port() const { return impl_->port(); }

}  // namespace muster::service
