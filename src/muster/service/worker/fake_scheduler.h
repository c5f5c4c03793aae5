#pragma once

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "muster/comm/discovery/store.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/service/protocol/ask.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/protocol/orders.h"
#include "muster/service/protocol/reports.h"
#include "muster/service/protocol/tags.h"

namespace muster::service {

/// A scheduler that answers registrations, remembers what it hears, and gives the orders that a
/// test tells it to give.
class FakeScheduler {
 public:
  FakeScheduler(std::shared_ptr<comm::Store> store, const std::string& driver, std::uint64_t epoch)
      : epoch_(epoch),
        proxy_(join(std::move(store), driver)),
        listening_([this](const std::stop_token& stop) { listen(stop); }) {}
  ~FakeScheduler() {
    listening_.request_stop();
    proxy_.close();
  }

  comm::Proxy& proxy() { return proxy_; }

  void order(const std::string& worker, std::vector<Order> orders) {
    Orders signed_orders{epoch_, id_of(worker), std::move(orders)};
    notify(worker, kOrdersTag, encode(signed_orders));
  }
  void beat(const std::string& worker, const Beat& beat) { notify(worker, kBeatTag, encode(beat)); }

  /// Waits for something that others do; false if they do not.
  template <class Condition>
  [[nodiscard]] bool eventually(const Condition& condition) {
    std::unique_lock lock(mutex_);
    return heard_.wait_for(lock, std::chrono::seconds(30), [&] { return condition(); });
  }
  /// All reports of one kind, in order. Only inside `eventually`, or with `all`.
  template <class Event>
  [[nodiscard]] std::vector<Event> heard() const {
    std::vector<Event> events;
    for (const Report& report : reports_)
      if (const auto* event = std::get_if<Event>(&report.event)) events.push_back(*event);
    return events;
  }
  template <class Event>
  [[nodiscard]] std::vector<Event> all() {
    const std::scoped_lock lock(mutex_);
    return heard<Event>();
  }
  template <class Event>
  [[nodiscard]] bool hears(std::size_t count) {
    return eventually([&] { return heard<Event>().size() >= count; });
  }
  [[nodiscard]] bool hears_finished(std::size_t count) {
    return eventually([&] { return finished_ >= count; });
  }
  [[nodiscard]] std::vector<Report> reports() {
    const std::scoped_lock lock(mutex_);
    return reports_;
  }
  [[nodiscard]] std::vector<Registration> registrations() {
    const std::scoped_lock lock(mutex_);
    return registrations_;
  }
  [[nodiscard]] bool hears_registrations(std::size_t count) {
    return eventually([&] { return registrations_.size() >= count; });
  }
  /// From now on nobody registers: everybody gets this answer.
  void refuse(Answer answer) {
    const std::scoped_lock lock(mutex_);
    refusal_ = std::move(answer);
  }
  void forget_reports() {
    const std::scoped_lock lock(mutex_);
    reports_.clear();
    finished_ = 0;
  }
  [[nodiscard]] engine::WorkerId id_of(const std::string& worker) {
    const std::scoped_lock lock(mutex_);
    return ids_[worker];
  }
  /// How many tasks ended well. Only inside `eventually`.
  [[nodiscard]] std::size_t finished() const { return finished_; }
  [[nodiscard]] std::size_t messages() {
    const std::scoped_lock lock(mutex_);
    return messages_;
  }

  [[nodiscard]] Answer ask(const std::string& worker, const std::string& verb) {
    return read_answer(request(worker, kAskTag, encode(Ask{verb, nlohmann::json::object(), {}})))
        .value();
  }
  [[nodiscard]] Answer put(const std::string& worker, const PutChunk& chunk) {
    return read_answer(request(worker, kPutTag, encode(chunk))).value();
  }
  [[nodiscard]] GotChunks get(const std::string& worker, std::vector<engine::ChunkId> chunks) {
    const std::size_t asked = chunks.size();
    return read_got(request(worker, kGetTag, encode(GetChunks{std::move(chunks)})), asked);
  }

 private:
  static comm::Proxy join(std::shared_ptr<comm::Store> store, const std::string& driver) {
    comm::ProxyOptions options;
    options.group = kGroup;
    options.type = kSchedulerType;
    options.name = kSchedulerName;
    options.driver = driver;
    options.expected_peers = {{std::string(kWorkerType), 0}};
    options.store = std::move(store);
    options.rejoin.enabled = true;
    options.rejoin.max_rejoins = std::numeric_limits<std::size_t>::max();
    options.rejoin.minimal_peers_timeout = std::chrono::seconds(5);
    return comm::Proxy::join(std::move(options)).value();
  }

  void notify(const std::string& worker, std::string_view tag, comm::Body body) {
    comm::Message message;
    message.tag = tag;
    message.destination = worker;
    message.session_type = comm::SessionType::notification;
    message.body = std::move(body);
    const auto sent = proxy_.isend(std::move(message));
    if (!sent) throw std::runtime_error(sent.error().message());
  }

  comm::Body request(const std::string& worker, std::string_view tag, comm::Body body) {
    comm::Message message;
    message.tag = tag;
    message.destination = worker;
    message.body = std::move(body);
    auto replies = proxy_.send(std::move(message), std::chrono::seconds(30));
    if (!replies || replies->messages.empty()) throw std::runtime_error("no reply");
    return replies->messages.front().body;
  }

  void listen(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto received = proxy_.receive_once(std::chrono::milliseconds(100));
      if (!received) return;
      if (*received) take(**received);
    }
  }

  void take(const comm::Message& message) {
    if (message.tag == kRegisterTag) {
      Registration registration = read_registration(message.body);
      std::unique_lock lock(mutex_);
      const engine::WorkerId id(++last_id_);
      ids_[registration.name] = id;
      registrations_.push_back(std::move(registration));
      const Answer answer =
          refusal_.value_or(Answer{200, {{"worker", id.value()}, {"epoch", epoch_}}, {}});
      lock.unlock();
      (void)proxy_.reply(message, {}, encode(answer));
    } else if (message.tag == kReportsTag) {
      Reports reports = read_reports(message.body);
      const std::scoped_lock lock(mutex_);
      ++messages_;
      for (Report& report : reports.reports) {
        finished_ += std::holds_alternative<engine::TaskFinished>(report.event);
        reports_.push_back(std::move(report));
      }
    }
    const std::scoped_lock lock(mutex_);
    heard_.notify_all();
  }

  const std::uint64_t epoch_;
  std::mutex mutex_;
  std::condition_variable heard_;
  std::vector<Report> reports_;
  std::vector<Registration> registrations_;
  std::map<std::string, engine::WorkerId> ids_;
  std::optional<Answer> refusal_;
  std::uint32_t last_id_ = 0;
  std::size_t messages_ = 0;
  std::size_t finished_ = 0;
  comm::Proxy proxy_;
  std::jthread listening_;
};

}  // namespace muster::service
