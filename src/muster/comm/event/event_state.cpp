#include "muster/comm/event/event_state.h"

#include <algorithm>

#include "muster/base/assert.h"

namespace muster::comm {
namespace {

// Below this many stale places a queue is left alone.
constexpr std::size_t kStalePlaces = 32;

}  // namespace

EventState::EventState(Event event) : event_(std::move(event)) {
  SlotsByPattern known;
  add_node(event_, kNoParent, known);
}

EventState::NodeIndex EventState::add_node(const Event& event, NodeIndex parent,
                                           SlotsByPattern& known) {
  const auto index = static_cast<NodeIndex>(nodes_.size());
  nodes_.emplace_back();
  nodes_[index].kind = event.kind();
  nodes_[index].parent = parent;
  if (event.kind() == Event::Kind::unit) {
    const SlotIndex slot = slot_of(event.unit(), known);
    slots_[slot].units.push_back(index);
    nodes_[index].slot = slot;
    nodes_[index].amount = event.unit().amount;
    nodes_[index].needed = event.unit().amount.needed(0).value_or(kNever);
  }
  for (const Event& operand : event.operands()) {
    const NodeIndex child = add_node(operand, index, known);
    nodes_[index].operands.push_back(child);
  }
  return index;
}

EventState::SlotIndex EventState::slot_of(const UnitEvent& unit, SlotsByPattern& known) {
  const auto [place, is_new] =
      known.try_emplace({unit.source, unit.tag}, static_cast<SlotIndex>(slots_.size()));
  if (is_new) slots_.push_back({.pattern = {unit.source, unit.tag}, .units = {}, .queue = {}});
  return place->second;
}

std::vector<Name> EventState::percentage_sources() const {
  std::vector<Name> sources;
  for (const Node& node : nodes_) {
    if (node.kind == Event::Kind::unit && node.amount.kind == Amount::Kind::percentage) {
      sources.push_back(slots_[node.slot].pattern.source);
    }
  }
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return sources;
}

void EventState::set_peers(std::string_view source, std::size_t peers) {
  for (const Slot& slot : slots_) {
    if (slot.pattern.source != source) continue;
    for (const NodeIndex unit : slot.units)
      nodes_[unit].needed = nodes_[unit].amount.needed(peers).value_or(kNever);
    refresh(slot);
  }
}

void EventState::arrive(std::uint64_t arrival, std::uint64_t token,
                        std::span<const SlotIndex> slots) {
  MUSTER_ASSERT(slots.size() <= kMaxSlotsPerMessage,
                "three sources and two tags are all that a message can match");
  Entry entry{.arrival = arrival,
              .token = token,
              .slots = {},
              .slot_count = static_cast<std::uint8_t>(slots.size())};
  std::copy(slots.begin(), slots.end(), entry.slots.begin());
  const auto index = entries_.put(entry);
  for (const SlotIndex i : slots) {
    Slot& slot = slots_[i];
    if (slot.queue.size() > 2 * slot.live + kStalePlaces) compact(slot);
    slot.queue.push_back({arrival, index});
    ++slot.live;
    refresh(slot);
  }
}

// Costs as much as it frees, so nothing per arrival on average.
void EventState::compact(Slot& slot) {
  auto& queue = slot.queue;
  queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(slot.front));
  std::erase_if(queue, [this](const Waiting& waiting) { return stale(waiting); });
  slot.front = 0;
}

void EventState::refresh(const Slot& slot) {
  for (const NodeIndex unit : slot.units) set_satisfied(unit, slot.live >= nodes_[unit].needed);
}

void EventState::set_satisfied(NodeIndex index, bool satisfied) {
  while (nodes_[index].satisfied != satisfied) {
    nodes_[index].satisfied = satisfied;
    if (nodes_[index].parent == kNoParent) return;
    index = nodes_[index].parent;
    Node& parent = nodes_[index];
    satisfied ? ++parent.satisfied_operands : --parent.satisfied_operands;
    satisfied = parent.kind == Event::Kind::all_of
                    ? parent.satisfied_operands == parent.operands.size()
                    : parent.satisfied_operands > 0;
  }
}

std::vector<std::uint64_t> EventState::take() {
  MUSTER_ASSERT(satisfied(), "the matcher asks first");
  want(0);
  std::vector<Waiting> taken;
  for (Slot& slot : slots_) take_wanted(slot, taken);
  std::sort(taken.begin(), taken.end(),
            [](const Waiting& a, const Waiting& b) { return a.arrival < b.arrival; });

  std::vector<std::uint64_t> tokens;
  tokens.reserve(taken.size());
  for (const Waiting& waiting : taken) {
    if (stale(waiting)) continue;  // taken through another slot too
    const Entry entry = entries_.take(waiting.entry);
    tokens.push_back(entry.token);
    for (std::size_t i = 0; i < entry.slot_count; ++i) --slots_[entry.slots[i]].live;
  }
  for (const Slot& slot : slots_) refresh(slot);
  return tokens;
}

void EventState::want(NodeIndex index) {
  const Node& node = nodes_[index];
  if (node.kind == Event::Kind::unit) {
    std::uint64_t& wanted = slots_[node.slot].wanted;
    wanted = std::max(wanted, node.needed);
    return;
  }
  for (const NodeIndex operand : node.operands) {
    if (!nodes_[operand].satisfied) continue;
    want(operand);
    if (node.kind == Event::Kind::any_of) return;
  }
}

void EventState::take_wanted(Slot& slot, std::vector<Waiting>& taken) {
  for (; slot.wanted > 0; ++slot.front) {
    MUSTER_ASSERT(slot.front < slot.queue.size(),
                  "a satisfied unit has as many live messages as it wants");
    const Waiting& waiting = slot.queue[slot.front];
    if (stale(waiting)) continue;
    taken.push_back(waiting);
    --slot.wanted;
  }
}

void EventState::clear() {
  entries_.clear();
  for (Slot& slot : slots_) {
    slot.queue = {};
    slot.front = 0;
    slot.live = 0;
    refresh(slot);
  }
}

}  // namespace muster::comm
