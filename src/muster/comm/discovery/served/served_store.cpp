#include "muster/comm/discovery/served/served_store.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "muster/base/fork_guard.h"
#include "muster/base/log.h"
#include "muster/comm/discovery/last_list.h"
#include "muster/comm/discovery/served/channel.h"
#include "muster/comm/discovery/served/wire.h"
#include "muster/comm/driver/zmq/credentials.h"
#include "muster/comm/errc.h"
#include "muster/net/local_address.h"
#include "muster/runtime/interrupt.h"

namespace muster::comm {
namespace {

using served::Channel;
using served::Parts;

constexpr std::string_view kScheme = "tcp://";
constexpr std::size_t kMostIdle = 4;  // connections that are kept

struct Where {
  std::string host;  // without brackets
  std::uint16_t port = 0;
};

std::optional<Where> parse(std::string_view address) {
  if (!address.starts_with(kScheme)) return std::nullopt;
  address.remove_prefix(kScheme.size());
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto port = served::number(address.substr(colon + 1));
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') != host.ends_with(']')) return std::nullopt;
  if (host.starts_with('['))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return std::nullopt;
  if (!port || *port == 0 || *port > 65535 || host.empty() ||
      host.find_first_of(" /;@*") != std::string_view::npos)
    return std::nullopt;
  return Where{std::string(host), static_cast<std::uint16_t>(*port)};
}

class ServedStore final : public Store {
 public:
  ServedStore(std::string address, Where where, ZmqCredentials credentials,
              ServedStoreOptions options, Interrupt interrupt)
      : address_(std::move(address)),
        where_(std::move(where)),
        credentials_(std::move(credentials)),
        options_(options),
        interrupt_(std::move(interrupt)) {}
  ~ServedStore() override;

  [[nodiscard]] std::string description() const override { return address_; }
  [[nodiscard]] std::string local_address() const override {
    return net::local_address_towards(where_.host, where_.port).value_or("");
  }

  Result<void> put(const std::string& group, const Entry& entry, Duration lease) override;
  Result<void> remove(const std::string& group, const Name& name, InstanceId instance) override;
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& group) override;
  Result<void> wait_for_change(const std::string& group, TimePoint deadline) override;
  void interrupt() override { interrupt_.set(); }
  void hurry(TimePoint deadline) override { latest_ = deadline; }

  /// `Errc::refused` if the server does not let us in.
  [[nodiscard]] Result<void> greet();

 private:
  using Key = std::tuple<std::string, Name, InstanceId>;

  [[nodiscard]] bool inherited() const { return fork_generation() != made_in_; }
  [[nodiscard]] tl::unexpected<Error> forked() const {
    return fail(Errc::forked, fmt::format("the store {} was inherited through fork", address_));
  }
  [[nodiscard]] tl::unexpected<Error> silent(const Channel& channel, Duration after) const;
  [[nodiscard]] Result<Parts> call(Parts request);
  [[nodiscard]] Result<std::unique_ptr<Channel>> borrow();
  void give_back(std::unique_ptr<Channel> channel);
  [[nodiscard]] std::optional<Parts> wait_request(const std::string& group, Duration slice);
  Result<void> wait_with(Channel& channel, const std::string& group, TimePoint deadline);

  const std::string address_;
  const Where where_;
  const ZmqCredentials credentials_;
  const ServedStoreOptions options_;
  const Interrupt interrupt_;
  const std::uint64_t made_in_ = fork_generation();
  std::atomic<TimePoint> latest_ = TimePoint::max();  // when calls end; see `hurry`
  ZmqContext context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Channel>> idle_;
  std::map<Key, std::string> ranks_;
  Duration lease_{};                      // the longest of those put here
  std::map<std::string, LastList> seen_;  // by group
};

ServedStore::~ServedStore() {
  if (!inherited()) return;
  for (const auto& channel : idle_) channel->abandon();
  context_.abandon();
}

tl::unexpected<Error> ServedStore::silent(const Channel& channel, Duration after) const {
  if (channel.rejected())
    return fail(
        Errc::store_unreachable,
        fmt::format("{} hangs up before it knows who is there: is MUSTER_SECRET (or "
                    "--insecure) the same on both sides, and is it below its limit of connections?",
                    address_));
  return fail(Errc::store_unreachable, fmt::format("{} does not answer within {:.1f} s", address_,
                                                   std::chrono::duration<double>(after).count()));
}

Result<std::unique_ptr<Channel>> ServedStore::borrow() {
  if (inherited()) return forked();
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto channel = std::move(idle_.back());
      idle_.pop_back();
      return channel;
    }
  }
  auto channel = Channel::open(context_, address_, credentials_);
  if (!channel) return fail(Errc::store_unreachable, channel.error().message());
  return channel;
}

void ServedStore::give_back(std::unique_ptr<Channel> channel) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(channel));
}

// A connection without an answer is given up: what is under way there must not arrive later.
Result<Parts> ServedStore::call(Parts request) {
  auto channel = borrow();
  if (!channel) return fail(channel.error());
  const TimePoint asked = SteadyClock().now();
  auto answer = (*channel)->ask(std::move(request), asked + options_.timeout, nullptr, &latest_);
  if (!answer || !*answer) return silent(**channel, SteadyClock().now() - asked);
  give_back(*std::move(channel));
  return **std::move(answer);
}

Result<void> ServedStore::greet() {
  auto channel = borrow();
  if (!channel) return fail(channel.error());
  const auto answer = (*channel)->ask({std::string(served::verb::ping), ""},
                                      SteadyClock().now() + options_.greeting);
  if (answer && *answer) {
    give_back(*std::move(channel));
    return {};
  }
  if ((*channel)->rejected())
    return fail(Errc::refused, silent(**channel, options_.greeting).value().message());
  return silent(**channel, options_.greeting);
}

Result<void> ServedStore::put(const std::string& group, const Entry& entry, Duration lease) {
  const Key key{group, entry.name, entry.instance};
  const auto microseconds = std::chrono::ceil<std::chrono::microseconds>(lease).count();
  std::string rank = "0";
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = ranks_.find(key); known != ranks_.end()) rank = known->second;
  }
  auto answer = call({std::string(served::verb::put), group, entry.to_json(),
                      std::to_string(std::max<std::int64_t>(microseconds, 0)), rank});
  if (!answer) return fail(answer.error());
  if (answer->front() == served::answer::taken) {
    const auto holder =
        answer->size() > 1 ? Entry::from_json((*answer)[1]).value_or(Entry{}) : Entry{};
    return fail(name_taken(entry, group, holder));
  }
  if (answer->size() == 2 && answer->front() == served::answer::full)
    return fail(Errc::refused, fmt::format("{} has no room for '{}': {}", address_,
                                           entry.name.view(), (*answer)[1]));
  if (answer->size() != 2 || answer->front() != served::answer::ok)
    return fail(Errc::store_unreachable,
                fmt::format("{} gave an answer of the wrong kind", address_));
  const std::lock_guard lock(mutex_);
  ranks_[key] = std::move((*answer)[1]);
  lease_ = std::max(lease_, lease);
  return {};
}

Result<void> ServedStore::remove(const std::string& group, const Name& name, InstanceId instance) {
  const auto answer = call({std::string(served::verb::remove), group, name.str(),
                            fmt::format("{:016x}", instance.value())});
  if (!answer) return fail(answer.error());
  const std::lock_guard lock(mutex_);
  ranks_.erase({group, name, instance});
  return {};
}

Result<std::vector<Entry>> ServedStore::list(const std::string& group) {
  auto answer = call({std::string(served::verb::list), group});
  if (!answer) return fail(answer.error());
  if (answer->size() < 3 || answer->front() != served::answer::ok)
    return fail(Errc::store_unreachable,
                fmt::format("{} gave an answer of the wrong kind", address_));
  std::vector<Entry> entries;
  for (std::size_t i = 3; i < answer->size(); ++i) {
    if (auto entry = Entry::from_json((*answer)[i])) entries.push_back(*std::move(entry));
  }
  const std::lock_guard lock(mutex_);
  seen_[group].note(std::move((*answer)[2]), std::move((*answer)[1]), entries, lease_,
                    SteadyClock().now());
  return entries;
}

std::optional<Parts> ServedStore::wait_request(const std::string& group, Duration slice) {
  const std::lock_guard lock(mutex_);
  const auto seen = seen_.find(group);
  if (seen == seen_.end()) return std::nullopt;
  const auto microseconds = std::chrono::ceil<std::chrono::microseconds>(slice).count();
  return Parts{std::string(served::verb::wait), group, seen->second.begun(), seen->second.version(),
               std::to_string(std::max<std::int64_t>(microseconds, 0))};
}

Result<void> ServedStore::wait_for_change(const std::string& group, TimePoint deadline) {
  if (inherited()) return forked();
  if (interrupt_.take()) return {};
  auto channel = borrow();
  if (!channel) return fail(channel.error());
  auto waited = wait_with(**channel, group, deadline);
  if (waited) give_back(*std::move(channel));
  return waited;
}

Result<void> ServedStore::wait_with(Channel& channel, const std::string& group,
                                    TimePoint deadline) {
  while (true) {
    const TimePoint now = SteadyClock().now();
    const TimePoint until = std::min(deadline, now + options_.slice);
    auto request = wait_request(group, until - now);
    if (!request || now >= deadline) return {};
    const TimePoint patience = until == deadline ? deadline : until + options_.timeout;
    const auto answer = channel.ask(*std::move(request), patience, &interrupt_);
    if (!answer) return silent(channel, patience - now);
    if (*answer && (*answer)->front() == served::answer::changed) return {};
    if (*answer) continue;
    // No answer: interrupted, or it is time, or the server is gone.
    if (SteadyClock().now() < patience || until == deadline) return {};
    return silent(channel, patience - now);
  }
}

}  // namespace

Result<std::unique_ptr<Store>> make_served_store(std::string_view address, const Security& security,
                                                 ServedStoreOptions options) {
  auto where = parse(address);
  if (!where)
    return fail(Errc::socket_type,
                fmt::format("'{}' is not the address of a store: tcp://HOST:PORT", address));
  if (security.secret.empty() && !security.insecure && !net::is_loopback(where->host))
    return fail(Errc::refused, fmt::format("{} may be on another host, and there is no secret: set "
                                           "MUSTER_SECRET (the same as there), or give --insecure",
                                           address));
  auto credentials = ZmqCredentials::make(security);
  if (!credentials) return fail(credentials.error());
  auto interrupt = Interrupt::create();
  if (!interrupt) return fail(Errc::internal, interrupt.error().message());
  auto store =
      std::make_unique<ServedStore>(std::string(address), *std::move(where),
                                    *std::move(credentials), options, *std::move(interrupt));
  const auto greeted = store->greet();
  if (!greeted && greeted.error().is(Errc::refused)) return fail(greeted.error());
  return store;
}

}  // namespace muster::comm
