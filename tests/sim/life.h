#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/comm/link/link_driver.h"
#include "muster/comm/proxy/router.h"
#include "tests/sim/world.h"

namespace muster::sim {

/// One life of one node: a proxy without threads, and a program that answers requests and waits for
/// the answers to its own.
class Life {
 public:
  Life(const Plan& plan, testing::FrameNetwork& network, const Clock& clock,
       std::shared_ptr<comm::MemoryBoard> board, std::string name, comm::InstanceId instance,
       int number);

  /// Renews, looks around, polls, answers.
  void step();
  [[nodiscard]] Deadline next_event() const;

  /// Sends one request; its text is unique. False when the peer is away.
  bool request(const std::string& peer, comm::SessionType type, const std::string& text);

  struct Sent {
    std::string text;
    std::string to;
    comm::InstanceId to_instance;
  };
  struct Got {
    std::string text;
    std::string from;
    comm::InstanceId from_instance;
  };

  std::string name;
  comm::Entry self;
  std::vector<Sent> sent;  ///< requests that went out, in order, with the life they went to
  std::vector<Got> got;    ///< requests that arrived, in order
  std::vector<std::unique_ptr<comm::Waiter>> waiting;
  std::size_t lost_replies = 0;
  bool paused = false;

  /// Messages that the links delivered a second time; the sessions would hide them.
  [[nodiscard]] std::uint64_t repeated() const { return router_->counters().duplicates; }

 private:
  void answer(const comm::Message& message);
  void retry_answers();

  const Clock& clock_;
  std::unique_ptr<Doorbell> doorbell_;
  comm::MemoryStore store_;
  std::unique_ptr<comm::LinkDriver> driver_;
  std::unique_ptr<comm::Router> router_;
  std::deque<comm::Message> unanswered_;
  std::map<std::string, std::vector<std::pair<std::string, comm::SessionId>>> kept_;
  TimePoint renew_at_;
  TimePoint look_at_;
};

}  // namespace muster::sim
