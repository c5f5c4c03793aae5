#include "muster/comm/discovery/served/store_server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <sys/resource.h>
#include <utility>
#include <zmq.h>

#include <fmt/format.h>

#include "muster/base/fork_guard.h"
#include "muster/base/log.h"
#include "muster/base/random.h"
#include "muster/base/wall_clock.h"
#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/comm/driver/zmq/credentials.h"
#include "muster/comm/driver/zmq/endpoint.h"
#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

using std::chrono::milliseconds;

constexpr int kHandshakeMs = 5000;
constexpr std::size_t kMostParts = 16;  // of a request
// Requests of one round, so that knocks at the door and a stop get their turn.
constexpr int kRound = 256;
constexpr Duration kLongestSleep = std::chrono::seconds(1);
constexpr int kStrangerEvents = ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
constexpr int kEvents = kStrangerEvents | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED;

std::size_t half_of_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
  return std::clamp<std::size_t>(limit.rlim_cur / 2, 16, 100'000);
}

Result<ListenPlan> plan(const StoreServerOptions& options) {
  auto planned = plan_listening(
      {.protocol = ZmqProtocol::tcp, .host = options.host, .port = options.port, .advertise = {}});
  if (!planned || planned->loopback || !options.security.secret.empty() ||
      options.security.insecure)
    return planned;
  return fail(Errc::refused,
              fmt::format("'{}' can be reached from other hosts, and there is no secret: set "
                          "MUSTER_SECRET (the same for all roles), or give --insecure to let "
                          "anybody in",
                          options.host));
}

std::uint16_t port_of(std::string_view endpoint) {
  return static_cast<std::uint16_t>(
      served::number(endpoint.substr(endpoint.rfind(':') + 1)).value_or(0));
}

}  // namespace

/// What the server and its local stores have in common.
struct StoreServer::Shared {
  explicit Shared(Interrupt wake) : wakeup(std::move(wake)) {}

  SteadyClock clock;
  // Above all ranks that a former server gave, unless the clock went back.
  std::shared_ptr<MemoryBoard> board = std::make_shared<MemoryBoard>(
      clock, static_cast<MemoryBoard::Rank>(wall_clock<std::chrono::microseconds>()));
  Interrupt wakeup;  // of the server's thread: somebody changed the board
};

namespace {

/// The board without a connection. Tells the server about changes, which has others waiting.
template <class Shared>
class LocalStore final : public Store {
 public:
  LocalStore(std::shared_ptr<Shared> shared, std::string address, std::string host)
      : shared_(std::move(shared)),
        address_(std::move(address)),
        host_(std::move(host)),
        store_(shared_->board) {}

  [[nodiscard]] std::string description() const override { return address_; }
  [[nodiscard]] std::string local_address() const override { return host_; }

  Result<void> put(const std::string& group, const Entry& entry, Duration lease) override {
    auto done = store_.put(group, entry, lease);
    shared_->wakeup.set();
    return done;
  }
  Result<void> remove(const std::string& group, const Name& name, InstanceId instance) override {
    auto done = store_.remove(group, name, instance);
    shared_->wakeup.set();
    return done;
  }
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& group) override {
    return store_.list(group);
  }
  Result<void> wait_for_change(const std::string& group, TimePoint deadline) override {
    return store_.wait_for_change(group, deadline);
  }
  void interrupt() override { store_.interrupt(); }

 private:
  std::shared_ptr<Shared> shared_;
  std::string address_;
  std::string host_;
  MemoryStore store_;
};

}  // namespace

StoreServer::StoreServer(std::shared_ptr<Shared> shared, const StoreServerOptions& options)
    : made_in_(fork_generation()),
      most_connections_(options.most_connections > 0 ? options.most_connections
                                                     : half_of_descriptors()),
      shared_(std::move(shared)),
      table_(shared_->board, shared_->clock, fmt::format("{:016x}", secure_random_u64()),
             options.limits) {}

Result<std::unique_ptr<StoreServer>> StoreServer::start(const StoreServerOptions& options) {
  auto wakeup = Interrupt::create();
  if (!wakeup) return fail(Errc::internal, wakeup.error().message());
  std::unique_ptr<StoreServer> server(
      new StoreServer(std::make_shared<Shared>(*std::move(wakeup)), options));
  if (auto ok = server->listen(options); !ok) return fail(ok.error());
  server->thread_ =
      std::jthread([raw = server.get()](const std::stop_token& stop) { raw->run(stop); });
  return server;
}

Result<void> StoreServer::listen(const StoreServerOptions& options) {
  const auto planned = plan(options);
  if (!planned) return fail(planned.error());
  const auto credentials = ZmqCredentials::make(options.security);
  if (!credentials) return fail(credentials.error());
  auto zap = credentials->open_zap(context_);
  if (!zap) return fail(zap.error());
  if (*zap) zap_.emplace(**std::move(zap));
  auto router = ZmqSocket::open(context_, ZMQ_ROUTER);
  if (!router) return fail(router.error());
  router_ = *std::move(router);
  router_.set(ZMQ_LINGER, 0);
  router_.set(ZMQ_SNDHWM, served::kMostQueued);
  router_.set(ZMQ_RCVHWM, served::kMostQueued);
  router_.set(ZMQ_IPV6, planned->ipv6 ? 1 : 0);
  router_.set(ZMQ_HANDSHAKE_IVL, kHandshakeMs);
  router_.set(ZMQ_TCP_KEEPALIVE, 1);
  router_.set(ZMQ_TCP_KEEPALIVE_IDLE, 10);
  const std::int64_t longest = served::kLongestPart;
  router_.set(ZMQ_MAXMSGSIZE, std::as_bytes(std::span(&longest, 1)));
  credentials->use_as_server(router_);
  auto monitor = router_.monitor(context_, "muster-store", kEvents);
  if (!monitor) return fail(monitor.error());
  monitor_ = *std::move(monitor);
  if (auto ok = router_.bind(planned->endpoint); !ok) return ok;
  const std::string endpoint = router_.last_endpoint();
  port_ = port_of(endpoint);
  address_ = advertised_address(*planned, endpoint);
  const std::string_view bound(planned->endpoint);
  host_ = bound.substr(6, bound.rfind(':') - 6);  // without tcp://
  std::erase_if(host_, [](char c) { return c == '[' || c == ']'; });
  return {};
}

std::shared_ptr<Store> StoreServer::local_store() const {
  return std::make_shared<LocalStore<Shared>>(shared_, address_, host_);
}

void StoreServer::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const TimePoint now = shared_->clock.now();
    const Duration sleep =
        std::clamp<Duration>(table_.next_look() - now, Duration(0), kLongestSleep);
    std::array<zmq_pollitem_t, 4> items{
        zmq_pollitem_t{router_.get(), 0, ZMQ_POLLIN, 0},
        zmq_pollitem_t{monitor_.get(), 0, ZMQ_POLLIN, 0},
        zmq_pollitem_t{nullptr, shared_->wakeup.fd(), ZMQ_POLLIN, 0},
        zmq_pollitem_t{nullptr, zap_ ? zap_->fd() : -1, ZMQ_POLLIN, 0}};
    zmq_poll(items.data(), zap_ ? 4 : 3,
             static_cast<long>(std::chrono::ceil<milliseconds>(sleep).count()));
    static_cast<void>(shared_->wakeup.take());
    count_connections();
    if (zap_) zap_->serve(open_.size() <= most_connections_);
    serve_requests();
    for (const auto& answer : table_.look()) {
      served::Parts parts = answer.parts;
      parts.insert(parts.begin(), answer.peer);
      static_cast<void>(send_strings(router_, parts));
    }
  }
}

void StoreServer::serve_requests() {
  for (int i = 0; i < kRound; ++i) {
    auto parts = receive_strings(router_, kMostParts);
    if (!parts || parts->empty()) break;
    served::Letter letter{.peer = std::move(parts->front()), .parts = {}};
    parts->erase(parts->begin());
    letter.parts = *std::move(parts);
    if (const auto answer = table_.take(letter)) {
      served::Parts reply = answer->parts;
      reply.insert(reply.begin(), answer->peer);
      static_cast<void>(send_strings(router_, reply));
    }
  }
  if (const auto refused = table_.refused(); refused != std::exchange(told_refused_, refused))
    log(LogLevel::warning, "comm", "{} has no room for more members", address_);
  if (table_.malformed() != malformed_.exchange(table_.malformed()))
    log(LogLevel::warning, "comm", "{} dropped a request that it cannot read", address_);
}

void StoreServer::count_connections() {
  std::int32_t descriptor = -1;
  while (const auto event = next_monitor_event(monitor_, &descriptor)) {
    if (*event == ZMQ_EVENT_ACCEPTED) {
      open_.insert(descriptor);
    } else if (*event == ZMQ_EVENT_DISCONNECTED) {
      open_.erase(descriptor);
    } else {
      ++strangers_;
      log(LogLevel::debug, "comm", "somebody who knocked at {} failed the handshake", address_);
    }
  }
  connections_ = open_.size();
}

void StoreServer::stop() {
  if (fork_generation() != made_in_) return abandon();
  if (thread_.joinable()) {
    thread_.request_stop();
    shared_->wakeup.set();
    thread_.join();
  }
  if (router_.is_open()) router_.stop_monitor();
  monitor_.close();
  router_.close();
  if (zap_) zap_->close();
  context_.terminate();
}

// In a child after fork neither the thread nor libzmq's exist.
void StoreServer::abandon() {
  if (thread_.joinable()) thread_.detach();
  monitor_.abandon();
  router_.abandon();
  if (zap_) zap_->abandon();
  context_.abandon();
}

}  // namespace muster::comm
