#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/comm/collective/outbox.h"
#include "muster/comm/collective/schedule_runner.h"
#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/comm/link/link_driver.h"
#include "muster/comm/proxy/router.h"
#include "tests/sim/collective_world.h"
#include "tests/support/frame_network.h"

namespace muster::sim {

/// One rank: a proxy without threads, a wire made of its messages, and the call that is under way.
class CollectiveNode {
 public:
  CollectiveNode(int rank, int size, testing::FrameNetwork& network, const Clock& clock,
                 std::shared_ptr<comm::MemoryBoard> board, CollectiveFaults faults);

  /// Renews, looks around, moves messages, carries the call on.
  void step();
  [[nodiscard]] Deadline next_event() const;
  [[nodiscard]] bool sees_all() const;

  void begin(const comm::collective::Call& call, comm::collective::Schedule schedule,
             std::uint32_t sequence);
  [[nodiscard]] bool over() const { return outcome_.has_value(); }
  [[nodiscard]] bool failed() const { return outcome_ && !*outcome_; }

 private:
  using Slot = comm::collective::Slot;
  using Signature = comm::collective::Signature;

  class NodeWire final : public comm::collective::Wire {
   public:
    explicit NodeWire(CollectiveNode& node) : node_(node) {}
    Token send(int to, Slot slot, const Signature& signature, ByteSpan data) override;
    Token receive(int from, Slot slot, const Signature& signature,
                  std::span<std::byte> into) override;
    void progress() override;
    [[nodiscard]] Result<bool> finished(Token token) override;
    void cancel(Token token) override { transfers_.erase(token); }

   private:
    friend class CollectiveNode;
    struct Transfer {
      int peer;
      std::uint64_t slot;
      ByteSpan data = {};
      std::span<std::byte> into = {};
      bool sends = false;
      bool over = false;
    };
    bool take_arrived(Transfer& transfer);

    CollectiveNode& node_;
    Token last_ = 0;
    std::map<Token, Transfer> transfers_;
    std::multimap<std::pair<int, std::uint64_t>, std::vector<std::byte>> arrived_;
  };

  [[nodiscard]] static std::string name_of(int rank) { return "n" + std::to_string(rank); }
  comm::collective::Outbox::Attempt post(std::string to, std::uint64_t slot, ByteSpan data);
  void take_messages();
  void notice_departures();

  int rank_;
  int size_;
  CollectiveFaults faults_;
  const Clock& clock_;
  comm::Entry self_;
  std::unique_ptr<Doorbell> doorbell_;
  comm::MemoryStore store_;
  std::unique_ptr<comm::LinkDriver> driver_;
  std::unique_ptr<comm::Router> router_;
  comm::collective::Outbox outbox_;
  NodeWire wire_{*this};
  std::unique_ptr<comm::collective::ScheduleRunner> runner_;
  std::optional<bool> outcome_;  // of the call: whether it ended well
  bool met_all_ = false;
  bool lost_ = false;  // one of the others
  TimePoint renew_at_;
  TimePoint look_at_;
};

}  // namespace muster::sim
