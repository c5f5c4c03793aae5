#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "muster/base/fork_guard.h"
#include "muster/base/result.h"
#include "muster/comm/collective/ballot.h"
#include "muster/comm/collective/call.h"
#include "muster/comm/collective/choice.h"
#include "muster/comm/collective/crew.h"
#include "muster/comm/collective/door.h"
#include "muster/comm/collective/handle_state.h"
#include "muster/comm/collective/network/message_wire.h"
#include "muster/comm/collective/schedule_runner.h"

namespace muster::comm::collective {

/// Collectives by messages, and sends and receives between two ranks. Calls with one tag are
/// carried out one after the other, by whoever waits for something of the crew, or in the
/// background.
///
/// Thread-safe; what says so needs the crew's lock.
class NetworkPlane : public std::enable_shared_from_this<NetworkPlane> {
 public:
  struct Options {
    std::string group;  ///< for messages
    std::uint64_t id = 0;
    std::uint16_t epoch = 0;
    int rank = 0;
    std::vector<std::string> members;
    std::vector<int> hosts;
    /// Ends the group for all ranks. With the lock held.
    std::function<void(const Error&)> broke;
  };

  /// `door` keeps the crew.
  NetworkPlane(Crew& crew, std::shared_ptr<Door> door, ChoiceTable table, Options options);
  ~NetworkPlane();

  // What is not over after its timeout is given up, whether anybody waits for it or not.
  [[nodiscard]] Result<std::shared_ptr<Handle::State>> start(Call call, int tag,
                                                             Timeout timeout = {});
  [[nodiscard]] Result<std::shared_ptr<Handle::State>> send(int to, ByteSpan data, Element element,
                                                            int tag, Timeout timeout);
  [[nodiscard]] Result<std::shared_ptr<Handle::State>> receive(int from, std::span<std::byte> data,
                                                               Element element, int tag,
                                                               Timeout timeout);

  // With the lock held:

  /// Carries on what was started; true when something is left.
  bool progress();
  void on_message(int from, const Message& message) { wire_.on_message(from, message); }
  /// What another rank is waiting in.
  void on_calling(int from, int tag, std::uint32_t sequence, const Signature& signature);
  /// Nothing more will come from a rank: what waits for it ends with this error.
  void leave(int rank, const Error& error) { wire_.leave(rank, error); }
  /// All calls end with this error from now on.
  void end(const Error& error);
  /// What this rank has finished.
  [[nodiscard]] FinishedByTag finished() const;

 private:
  class Pending;
  class Collective;
  class Transfer;
  struct Lane {
    std::uint32_t started = 0;
    std::uint64_t finished = 0;
    std::uint16_t earlier = 0;  // as in `Signature`, of the next call
    std::deque<std::shared_ptr<Collective>> queue;
    /// What was called last and is over, oldest first: another rank may wait in it for ever,
    /// because it called something else.
    std::deque<std::pair<std::uint32_t, Signature>> past;  // by sequence
  };

  void advance(Lane& lane);
  /// What this rank called, or is calling, as long as it is remembered.
  [[nodiscard]] static std::optional<Signature> called(const Lane& lane, std::uint32_t sequence);
  void tell_what_is_called();
  void give_up_overdue();
  [[nodiscard]] std::uint32_t next_to_receive(int from, int tag);
  [[nodiscard]] bool inherited() const { return fork_generation_ != fork_generation(); }
  [[nodiscard]] int size() const { return static_cast<int>(options_.members.size()); }

  Crew* crew_;  // there for who visits `door_`
  std::shared_ptr<Door> door_;
  ChoiceTable table_;
  Options options_;
  MessageWire wire_;
  std::map<int, Lane> lanes_;  // by tag
  std::vector<std::shared_ptr<Transfer>> transfers_;
  std::map<std::pair<int, int>, std::uint32_t> sent_;      // by rank and tag
  std::map<std::pair<int, int>, std::uint32_t> received_;  // by rank and tag
  /// Of receives that were given up: the message will come for the next one.
  std::map<std::pair<int, int>, std::set<std::uint32_t>> unused_;  // by rank and tag
  struct Calling {
    int from;
    int tag;
    std::uint32_t sequence;
    Signature signature;
  };
  std::vector<Calling> calling_;           // calls that this rank has not come to yet
  TimePoint next_due_ = TimePoint::max();  // nothing is due before
  std::optional<Error> end_;
  std::uint64_t fork_generation_ = fork_generation();
};

}  // namespace muster::comm::collective
