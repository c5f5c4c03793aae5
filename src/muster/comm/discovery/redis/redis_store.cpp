#include "muster/comm/discovery/redis/redis_store.h"

#include <algorithm>
#include <array>
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
#include "muster/comm/discovery/redis/scripts.h"
#include "muster/comm/errc.h"
#include "muster/net/errc.h"
#include "muster/net/local_address.h"
#include "muster/net/redis/redis_client.h"
#include "muster/net/redis/redis_subscriber.h"
#include "muster/runtime/interrupt.h"
#include "muster/runtime/poll.h"

namespace muster::comm {
namespace {

using net::RedisClient;
using net::RedisReply;
using net::RedisSubscriber;
using std::chrono::milliseconds;

// A wait without a server ends after this long, so that its caller does not spin.
constexpr Duration kPauseWithoutServer = milliseconds(200);

tl::unexpected<Error> unreachable(const Error& error) {
  return fail(Errc::store_unreachable, error.message());
}

std::string hex(InstanceId instance) { return fmt::format("{:016x}", instance.value()); }

struct Keys {
  explicit Keys(const std::string& group)
      : data{fmt::format("muster:{{{}}}:entries", group),
             fmt::format("muster:{{{}}}:leases", group),
             fmt::format("muster:{{{}}}:version", group),
             fmt::format("muster:{{{}}}:begun", group)},
        channel(fmt::format("muster:{{{}}}:changed", group)) {}

  std::array<std::string, 4> data;
  std::string channel;
};

/// "rank instance json" → the entry.
std::optional<Entry> entry_of(std::string_view value) {
  const auto json = value.find(' ', std::min(value.find(' '), value.size() - 1) + 1);
  if (json == std::string_view::npos) return std::nullopt;
  auto entry = Entry::from_json(value.substr(json + 1));
  if (entry) return *std::move(entry);
  log(LogLevel::warning, "comm", "skipped a discovery entry in Redis: {}", entry.error().message());
  return std::nullopt;
}

class RedisStore final : public Store {
 public:
  RedisStore(net::RedisAddress address, RedisStoreOptions options, Interrupt interrupt)
      : options_(options),
        client_(std::move(address), options.timeout),
        interrupt_(std::move(interrupt)) {}

  [[nodiscard]] std::string description() const override { return client_.address().description(); }
  [[nodiscard]] std::string local_address() const override;

  Result<void> put(const std::string& group, const Entry& entry, Duration lease) override;
  Result<void> remove(const std::string& group, const Name& name, InstanceId instance) override;
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& group) override;
  Result<void> wait_for_change(const std::string& group, TimePoint deadline) override;
  void interrupt() override { interrupt_.set(); }

  [[nodiscard]] Result<void> ping();

 private:
  using Key = std::tuple<std::string, Name, InstanceId>;
  struct Subscription {
    std::string group;
    RedisSubscriber subscriber;
  };

  [[nodiscard]] bool inherited() const { return fork_generation() != made_in_; }
  [[nodiscard]] tl::unexpected<Error> forked() const {
    return fail(Errc::forked,
                fmt::format("the store {} was inherited through fork", description()));
  }
  Result<RedisReply> eval(const std::string& script, const Keys& keys,
                          std::vector<std::string> arguments);
  [[nodiscard]] Result<bool> changed(const std::string& group);
  [[nodiscard]] Result<Subscription> subscription(const std::string& group);
  Result<void> wait_with(Subscription& subscription, TimePoint deadline);
  void sleep(TimePoint until) const;

  const RedisStoreOptions options_;
  RedisClient client_;
  const Interrupt interrupt_;
  const std::uint64_t made_in_ = fork_generation();
  std::mutex mutex_;
  std::map<Key, std::string> ranks_;
  Duration lease_{};                          // the longest of those put here
  std::map<std::string, LastList> seen_;      // by group
  std::optional<Subscription> subscription_;  // lent to the wait that is under way
};

Result<RedisReply> RedisStore::eval(const std::string& script, const Keys& keys,
                                    std::vector<std::string> arguments) {
  if (inherited()) return forked();
  arguments.insert(arguments.begin(), keys.channel);
  auto reply = client_.eval(script, keys.data, arguments);
  if (!reply) return unreachable(reply.error());
  return reply;
}

Result<void> RedisStore::ping() {
  auto reply = client_.command({"PING"});
  if (!reply) return fail(reply.error());
  return {};
}

std::string RedisStore::local_address() const {
  const net::RedisAddress& address = client_.address();
  if (!address.unix_path.empty()) return {};
  return net::local_address_towards(address.host, address.port).value_or("");
}

Result<void> RedisStore::put(const std::string& group, const Entry& entry, Duration lease) {
  const Key key{group, entry.name, entry.instance};
  const auto microseconds = std::chrono::ceil<std::chrono::microseconds>(lease).count();
  std::string rank = "0";
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = ranks_.find(key); known != ranks_.end()) rank = known->second;
  }
  const auto reply = eval(
      redis::put_script(), Keys(group),
      {entry.name.str(), hex(entry.instance), entry.to_json(), std::to_string(microseconds), rank});
  if (!reply) return fail(reply.error());
  if (!reply->as_text())
    return fail(Errc::store_unreachable,
                fmt::format("{} gave an answer of the wrong kind", description()));
  if (reply->text.starts_with('!')) {
    return fail(
        name_taken(entry, group, Entry::from_json(reply->text.substr(1)).value_or(Entry{})));
  }
  const std::lock_guard lock(mutex_);
  ranks_[key] = reply->text;
  lease_ = std::max(lease_, lease);
  return {};
}

Result<void> RedisStore::remove(const std::string& group, const Name& name, InstanceId instance) {
  const auto reply = eval(redis::remove_script(), Keys(group), {name.str(), hex(instance)});
  if (!reply) return fail(reply.error());
  const std::lock_guard lock(mutex_);
  ranks_.erase({group, name, instance});
  return {};
}

Result<std::vector<Entry>> RedisStore::list(const std::string& group) {
  const auto reply = eval(redis::list_script(), Keys(group), {});
  if (!reply) return fail(reply.error());
  if (reply->elements.size() < 2)
    return fail(Errc::store_unreachable,
                fmt::format("{} gave an answer of the wrong kind", description()));
  std::vector<Entry> entries;
  for (std::size_t i = 2; i < reply->elements.size(); ++i) {
    if (auto entry = entry_of(reply->elements[i].text)) entries.push_back(*std::move(entry));
  }
  const std::lock_guard lock(mutex_);
  seen_[group].note(reply->elements[0].text, reply->elements[1].text, entries, lease_,
                    SteadyClock().now());
  return entries;
}

Result<bool> RedisStore::changed(const std::string& group) {
  const auto reply = eval(redis::version_script(), Keys(group), {});
  if (!reply) return fail(reply.error());
  const std::lock_guard lock(mutex_);
  const auto seen = seen_.find(group);
  return seen == seen_.end() || seen->second.version() != reply->text;
}

// The one that was kept, or a new one.
Result<RedisStore::Subscription> RedisStore::subscription(const std::string& group) {
  {
    const std::lock_guard lock(mutex_);
    auto kept = std::exchange(subscription_, std::nullopt);
    if (kept && kept->group == group) return *std::move(kept);
  }
  auto opened = RedisSubscriber::open(client_.address(), Keys(group).channel,
                                      SteadyClock().now() + options_.timeout);
  if (!opened) return unreachable(opened.error());
  return Subscription{group, *std::move(opened)};
}

Result<void> RedisStore::wait_for_change(const std::string& group, TimePoint deadline) {
  if (inherited()) return forked();
  if (interrupt_.take()) return {};
  auto current = subscription(group);
  const auto waited = current ? wait_with(*current, deadline) : fail(current.error());
  if (!waited) {
    sleep(std::min(deadline, SteadyClock().now() + kPauseWithoutServer));
    return waited;
  }
  const std::lock_guard lock(mutex_);
  subscription_ = *std::move(current);
  return {};
}

Result<void> RedisStore::wait_with(Subscription& subscription, TimePoint deadline) {
  for (;;) {
    // First subscribed, then looked: what happens after the look ends the sleep.
    const auto news = changed(subscription.group);
    if (!news) return fail(news.error());
    const TimePoint now = SteadyClock().now();
    if (*news || now >= deadline) return {};
    const auto woken =
        subscription.subscriber.wait(std::min(deadline, now + options_.look), interrupt_);
    if (!woken) return unreachable(woken.error());
    if (*woken == RedisSubscriber::Woken::interrupt) return {};
  }
}

void RedisStore::sleep(TimePoint until) const {
  std::array slots{pollfd{interrupt_.fd(), POLLIN, 0}};
  if (poll_until(slots, until)) static_cast<void>(interrupt_.take());
}

}  // namespace

Result<std::unique_ptr<Store>> make_redis_store(net::RedisAddress address,
                                                RedisStoreOptions options) {
  auto interrupt = Interrupt::create();
  if (!interrupt) return fail(Errc::internal, interrupt.error().message());
  auto store = std::make_unique<RedisStore>(std::move(address), options, *std::move(interrupt));
  const auto reached = store->ping();
  if (!reached && reached.error().is(net::Errc::auth))
    return fail(Errc::refused, reached.error().message());
  return store;
}

}  // namespace muster::comm
