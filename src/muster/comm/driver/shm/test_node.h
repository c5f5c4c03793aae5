#pragma once

#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "muster/comm/driver/shm/shm_driver.h"

namespace muster::comm::shm {

/// For tests: how much memory whose name holds `label` this process has mapped, in mappings.
inline std::size_t mappings_of(std::string_view label) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(label) != line.npos ? 1 : 0;
  return count;
}

/// For tests: a driver with what a proxy would give it, and a sink that remembers. Numbers peers as
/// they come, one per instance.
class TestNode final : public DriverSink {
 public:
  explicit TestNode(const std::string& name, ShmOptions options = {}, QueueLimits limits = {},
                    std::string group = "group", std::string secret = {})
      : group_(std::move(group)), self_(local_entry(Name(name), "test")) {
    bell_ = Doorbell::create().value();
    driver_ = make_shm_driver({.self = self_,
                               .group = group_,
                               .doorbell = *bell_,
                               .clock = clock_,
                               .security = {.secret = std::move(secret)},
                               .limits = limits},
                              options)
                  .value();
    self_.addresses["shm"] = driver_->address();
  }

  [[nodiscard]] Driver& driver() { return *driver_; }
  [[nodiscard]] Entry& self() { return self_; }
  [[nodiscard]] Doorbell& bell() { return *bell_; }
  void destroy_driver() { driver_.reset(); }

  PeerId id_of(const Entry& peer) {
    const auto [at, is_new] = ids_.try_emplace(peer.instance, PeerId(next_id_));
    if (is_new) ++next_id_;
    return at->second;
  }
  PeerId connect(TestNode& peer) {
    const PeerId id = id_of(peer.self());
    if (auto connected = driver_->connect(id, peer.self()); !connected) {
      throw std::runtime_error(connected.error().message());
    }
    return id;
  }

  /// One round of what a proxy's threads do.
  std::size_t step(Intake intake = Intake::open) {
    driver_->on_control(*this);
    return driver_->poll(*this, intake);
  }

  std::optional<PeerId> on_hello(const Entry& peer) override {
    if (!welcome) return std::nullopt;
    last_hello = peer;
    return id_of(peer);
  }
  void on_message(PeerId from, Message&& message) override {
    if (on_each) return on_each(from, std::move(message));
    received.push_back(std::move(message));
  }
  void on_departure(PeerId peer, Departure departure, const std::string& why) override {
    departed.push_back({peer, departure, why, received.size(), driver_->take_undelivered(peer)});
  }

  struct Departed {
    PeerId peer;
    Departure departure;
    std::string why;
    std::size_t after;  // so many messages
    std::vector<Message> undelivered;
  };
  std::vector<Message> received;
  std::vector<Departed> departed;
  std::function<void(PeerId, Message&&)> on_each;
  std::optional<Entry> last_hello;
  bool welcome = true;

 private:
  std::string group_;
  SteadyClock clock_;
  Entry self_;
  std::unique_ptr<Doorbell> bell_;
  std::unique_ptr<Driver> driver_;
  std::map<InstanceId, PeerId> ids_;
  std::uint32_t next_id_ = 1;
};

[[nodiscard]] inline Message test_message(const Entry& from, std::uint64_t number, Body body) {
  Message message;
  message.tag = "tag";
  message.source = from.name;
  message.body = std::move(body);
  message.session_id = {from.instance, number};
  message.message_id = {from.instance, number};
  return message;
}

/// Steps the nodes until `done`; false when that takes absurdly long.
inline bool run_until(std::vector<TestNode*> nodes, const std::function<bool()>& done) {
  const TimePoint deadline = SteadyClock().now() + std::chrono::seconds(30);
  while (!done()) {
    for (TestNode* node : nodes) node->step();
    if (SteadyClock().now() > deadline) return false;
  }
  return true;
}

}  // namespace muster::comm::shm
