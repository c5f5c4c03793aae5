#include "muster/comm/proxy/driver_endpoint.h"

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

constexpr const char* kGroup = "endpoints";
// The proxy's own thread does it at once; this is for a machine that is badly overloaded.
constexpr Duration kApplyWithin = std::chrono::seconds(10);

}  // namespace

/// The discovery store of a proxy that is told who its peers are.
class DriverEndpoint::Peers final : public Store {
 public:
  [[nodiscard]] std::string description() const override { return "connected peers"; }

  Result<void> put(const std::string& /*group*/, const Entry& entry, Duration /*lease*/) override {
    const std::lock_guard lock(mutex_);
    self_ = entry;
    return {};
  }
  Result<void> remove(const std::string& /*group*/, const Name& /*name*/,
                      InstanceId /*instance*/) override {
    return {};
  }
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& /*group*/) override {
    const std::lock_guard lock(mutex_);
    listed_ = version_;
    std::vector<Entry> entries;
    for (const auto& [name, entry] : connected_) entries.push_back(entry);
    return entries;
  }
  Result<void> wait_for_change(const std::string& /*group*/, TimePoint deadline) override {
    std::unique_lock lock(mutex_);
    // Whoever waits again has done what the list before asked for.
    applied_ = listed_;
    condition_.notify_all();
    condition_.wait_until(lock, deadline, [&] { return version_ != listed_; });
    return {};
  }
  void interrupt() override {
    const std::lock_guard lock(mutex_);
    change();
  }

  [[nodiscard]] std::string address() {
    const std::lock_guard lock(mutex_);
    return self_.to_json();
  }
  /// False when the proxy did not take it up in time.
  bool connect(const Name& peer, Entry entry) {
    std::unique_lock lock(mutex_);
    alias_[entry.name] = peer;
    connected_.insert_or_assign(peer, std::move(entry));
    former_.erase(peer);
    return apply(lock);
  }
  bool disconnect(const Name& peer) {
    std::unique_lock lock(mutex_);
    auto node = connected_.extract(peer);
    if (node.empty()) return false;
    former_[peer] = node.mapped().name;
    apply(lock);
    return true;
  }
  /// The peer's own name, and whether it is connected.
  [[nodiscard]] std::optional<std::pair<Name, bool>> find(const Name& peer) {
    const std::lock_guard lock(mutex_);
    if (const auto it = connected_.find(peer); it != connected_.end()) {
      return std::pair(it->second.name, true);
    }
    if (const auto it = former_.find(peer); it != former_.end()) {
      return std::pair(it->second, false);
    }
    return std::nullopt;
  }
  [[nodiscard]] Name known_as(const Name& own_name) {
    const std::lock_guard lock(mutex_);
    const auto it = alias_.find(own_name);
    return it == alias_.end() ? own_name : it->second;
  }
  [[nodiscard]] std::vector<Name> names(std::string_view type) {
    const std::lock_guard lock(mutex_);
    std::vector<Name> result;
    for (const auto& [name, entry] : connected_) {
      if (entry.type == type) result.push_back(name);
    }
    return result;
  }

 private:
  // `mutex_` must be held for both.
  void change() {
    ++version_;
    condition_.notify_all();
  }
  bool apply(std::unique_lock<std::mutex>& lock) {
    change();
    return condition_.wait_for(lock, kApplyWithin,
                               [&, mine = version_] { return applied_ >= mine; });
  }

  std::mutex mutex_;
  std::condition_variable condition_;
  std::uint64_t version_ = 1;
  std::uint64_t listed_ = 0;
  std::uint64_t applied_ = 0;
  Entry self_;
  std::map<Name, Entry> connected_;  // by the name that connect gave
  std::map<Name, Name> former_;      // that name: own name
  std::map<Name, Name> alias_;       // own name: that name
};

DriverEndpoint::DriverEndpoint(std::shared_ptr<Peers> peers, Proxy proxy)
    : peers_(std::move(peers)), proxy_(std::move(proxy)) {}
DriverEndpoint::DriverEndpoint(DriverEndpoint&&) noexcept = default;
DriverEndpoint::~DriverEndpoint() = default;

Result<DriverEndpoint> DriverEndpoint::open(EndpointOptions options) {
  auto peers = std::make_shared<Peers>();
  ProxyOptions proxy_options;
  proxy_options.group = kGroup;
  proxy_options.expected_peers = {{options.type, 0}};
  proxy_options.type = std::move(options.type);
  proxy_options.driver = std::move(options.driver);
  proxy_options.driver_options = std::move(options.driver_options);
  proxy_options.store = peers;
  proxy_options.send_timeout = options.send_timeout;
  proxy_options.interrupted = std::move(options.interrupted);
  proxy_options.security = std::move(options.security);
  auto proxy = Proxy::join(std::move(proxy_options));
  if (!proxy) return fail(proxy.error());
  return DriverEndpoint(std::move(peers), *std::move(proxy));
}

std::string DriverEndpoint::address() const { return peers_->address(); }
const Name& DriverEndpoint::name() const { return proxy_.name(); }

Result<void> DriverEndpoint::connect(const Name& peer, std::string_view address) {
  auto entry = Entry::from_json(address);
  if (!entry) {
    return fail(Errc::socket_type,
                fmt::format("connect '{}': '{}' is not what the 'address' of a driver gives: {}",
                            peer.view(), address.substr(0, 80), entry.error().message()));
  }
  const Name own_name = entry->name;
  if (peers_->connect(peer, *std::move(entry)) && !proxy_.type_of(own_name).empty()) return {};
  return fail(Errc::peer_connection, fmt::format("'{}' cannot be connected", peer.view()));
}

Result<void> DriverEndpoint::disconnect(const Name& peer) {
  if (peers_->disconnect(peer)) return {};
  return fail(Errc::peer_disconnection, fmt::format("'{}' is not connected", peer.view()));
}

Result<void> DriverEndpoint::send(Message message) {
  const auto peer = peers_->find(message.destination);
  if (!peer) {
    return fail(Errc::peers_missing,
                fmt::format("no peer is connected as '{}'", message.destination.view()));
  }
  if (!peer->second) {
    return fail(Errc::pending, fmt::format("'{}' is disconnected", message.destination.view()));
  }
  message.destination = peer->first;
  auto sent = proxy_.isend(std::move(message));
  if (!sent) return fail(sent.error());
  return {};
}

Result<void> DriverEndpoint::broadcast(std::string_view type, const Message& message) {
  for (const Name& name : peers_->names(type)) {
    Message copy = message;
    copy.destination = name;
    if (auto ok = send(std::move(copy)); !ok) return ok;
  }
  return {};
}

Result<std::optional<Message>> DriverEndpoint::receive_once(Timeout timeout) {
  auto message = proxy_.receive_once(timeout);
  if (message && *message) (*message)->source = peers_->known_as((*message)->source);
  return message;
}

void DriverEndpoint::close() { proxy_.close(); }

}  // namespace muster::comm
