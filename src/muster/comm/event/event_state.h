#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/name.h"
#include "muster/comm/event/event.h"
#include "muster/comm/event/slab.h"

namespace muster::comm {

/// One registered event at work: the messages that wait for it, and which of its units have enough
/// of them.
///
/// Units with the same source and tag share a *slot*, a queue in the order of arrival. A message is
/// in one place (`Entry`) and in the queue of each slot that it matches: at most six, its name, its
/// type or `*` with its tag or `*`. When it is taken through one slot, the entries that the other
/// queues have for it become stale and are passed over later, so taking costs nothing per queue.
/// The nodes of the tree count their satisfied operands, so an arrival touches only the path from
/// its units to the root.
class EventState {
 public:
  using SlotIndex = std::uint32_t;
  static constexpr std::size_t kMaxSlotsPerMessage = 6;

  explicit EventState(Event event);

  struct Pattern {
    Name source;
    Name tag;
  };
  [[nodiscard]] const Event& event() const { return event_; }
  [[nodiscard]] std::size_t slot_count() const { return slots_.size(); }
  [[nodiscard]] const Pattern& pattern(SlotIndex slot) const { return slots_[slot].pattern; }
  /// The sources of which percentages are asked, each once.
  [[nodiscard]] std::vector<Name> percentage_sources() const;

  /// So many peers match `source` now.
  void set_peers(std::string_view source, std::size_t peers);
  /// A message that matches these slots. `arrival` is above 0 and grows from call to call.
  void arrive(std::uint64_t arrival, std::uint64_t token, std::span<const SlotIndex> slots);

  [[nodiscard]] bool satisfied() const { return nodes_.front().satisfied; }
  /// Takes the messages that satisfy the event, in the order of their arrival. Only when
  /// `satisfied`.
  [[nodiscard]] std::vector<std::uint64_t> take();

  [[nodiscard]] std::size_t waiting() const { return entries_.size(); }
  void clear();

 private:
  using NodeIndex = std::uint32_t;
  static constexpr NodeIndex kNoParent = std::numeric_limits<NodeIndex>::max();
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  struct Node {
    Event::Kind kind = Event::Kind::unit;
    bool satisfied = false;
    NodeIndex parent = kNoParent;
    std::vector<NodeIndex> operands;
    std::size_t satisfied_operands = 0;
    SlotIndex slot = 0;  // of a unit
    Amount amount;
    std::uint64_t needed = kNever;
  };

  struct Entry {
    std::uint64_t arrival = 0;  // 0: taken
    std::uint64_t token = 0;
    std::array<SlotIndex, kMaxSlotsPerMessage> slots{};
    std::uint8_t slot_count = 0;
  };

  /// Stale when the entry has another arrival.
  struct Waiting {
    std::uint64_t arrival;
    Slab<Entry>::Index entry;
  };

  struct Slot {
    Pattern pattern;
    std::vector<NodeIndex> units;
    std::vector<Waiting> queue;
    std::size_t front = 0;     // what stands before it was taken
    std::size_t live = 0;      // how many in the queue are not stale
    std::uint64_t wanted = 0;  // while taking
  };

  using SlotsByPattern = std::map<std::pair<Name, Name>, SlotIndex>;
  NodeIndex add_node(const Event& event, NodeIndex parent, SlotsByPattern& known);
  SlotIndex slot_of(const UnitEvent& unit, SlotsByPattern& known);

  void refresh(const Slot& slot);
  void set_satisfied(NodeIndex index, bool satisfied);
  void want(NodeIndex index);
  void take_wanted(Slot& slot, std::vector<Waiting>& taken);
  void compact(Slot& slot);
  [[nodiscard]] bool stale(const Waiting& waiting) const {
    return entries_[waiting.entry].arrival != waiting.arrival;
  }

  Event event_;
  std::vector<Node> nodes_;  // the root first
  std::vector<Slot> slots_;
  Slab<Entry> entries_;
};

}  // namespace muster::comm
