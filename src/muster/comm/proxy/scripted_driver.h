#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/errc.h"

namespace muster::comm {

/// For tests.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{std::chrono::seconds(1)};
};

/// For tests: records what is sent and lets the test decide what happens.
class ScriptedDriver final : public Driver {
 public:
  [[nodiscard]] std::string_view name() const override { return "scripted"; }
  [[nodiscard]] std::string address() const override { return "here"; }
  Result<void> connect(PeerId peer, const Entry&) override {
    if (refuses) return fail(Errc::peer_connection, "nobody is there");
    connected.insert(peer);
    return {};
  }
  [[nodiscard]] bool established(PeerId) const override { return answers; }
  void disconnect(PeerId peer) override { connected.erase(peer); }
  SendStatus send(PeerId peer, const Message& message) override {
    if (status == SendStatus::sent) sent.emplace_back(peer, message);
    return status;
  }
  [[nodiscard]] std::vector<Message> take_undelivered(PeerId) override {
    return std::move(undelivered);
  }
  void flush() override {}
  [[nodiscard]] bool drained(PeerId) const override { return true; }
  [[nodiscard]] bool ready() const override { return false; }
  std::size_t poll(DriverSink&, Intake) override { return 0; }
  void close() override {}

  std::set<PeerId> connected;
  std::vector<std::pair<PeerId, Message>> sent;
  std::vector<Message> undelivered;
  SendStatus status = SendStatus::sent;
  bool refuses = false;
  bool answers = true;
};

}  // namespace muster::comm
