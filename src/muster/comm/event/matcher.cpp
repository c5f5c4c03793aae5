#include "muster/comm/event/matcher.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm {

EventMatcher::EventMatcher(PeerCount peer_count, MatcherOptions options)
    : peer_count_(std::move(peer_count)), options_(options) {}

std::size_t EventMatcher::PatternHash::operator()(PatternView pattern) const noexcept {
  const std::hash<std::string_view> hash;
  return hash(pattern.source) * 0x9E3779B97F4A7C15ull + hash(pattern.tag);
}

EventId EventMatcher::add(Event event) {
  const auto id = static_cast<std::uint32_t>(events_.size());
  EventState& state = events_.emplace_back(std::move(event));
  for (EventState::SlotIndex slot = 0; slot < state.slot_count(); ++slot) {
    index_[state.pattern(slot)].push_back({id, slot});
  }
  for (const Name& source : state.percentage_sources()) {
    auto [share, is_new] = shares_.try_emplace(source);
    if (is_new) share->second.peers = peer_count_(source);
    share->second.events.push_back(id);
    state.set_peers(source, share->second.peers);
  }
  return EventId(id);
}

Result<std::size_t> EventMatcher::push(std::uint64_t token, std::string_view source,
                                       std::string_view source_type, std::string_view tag) {
  find_matches(source, source_type, tag);
  const std::size_t takers = matched_events();
  if (waiting_ + takers > options_.max_waiting) return fail(Errc::would_block, full());
  waiting_ += takers;
  deliver(token);
  return takers;
}

void EventMatcher::find_matches(std::string_view source, std::string_view source_type,
                                std::string_view tag) {
  matches_.clear();
  std::size_t lists = 0;
  const auto look_up = [&](std::string_view pattern_source, std::string_view pattern_tag) {
    const auto found = index_.find(PatternView{pattern_source, pattern_tag});
    if (found == index_.end()) return;
    matches_.insert(matches_.end(), found->second.begin(), found->second.end());
    ++lists;
  };
  const auto look_up_source = [&](std::string_view pattern_source) {
    look_up(pattern_source, tag);
    if (tag != kAnything) look_up(pattern_source, kAnything);
  };
  look_up_source(kAnything);
  if (source != kAnything) look_up_source(source);
  if (source_type != kAnything && source_type != source) look_up_source(source_type);
  // Each list is sorted by itself.
  if (lists > 1) {
    std::sort(matches_.begin(), matches_.end(),
              [](const Match& a, const Match& b) { return a.event < b.event; });
  }
}

std::size_t EventMatcher::matched_events() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < matches_.size(); ++i)
    count += i == 0 || matches_[i].event != matches_[i - 1].event;
  return count;
}

void EventMatcher::deliver(std::uint64_t token) {
  ++arrivals_;
  for (std::size_t i = 0; i < matches_.size();) {
    const std::uint32_t event = matches_[i].event;
    std::array<EventState::SlotIndex, EventState::kMaxSlotsPerMessage> slots;
    std::size_t count = 0;
    for (; i < matches_.size() && matches_[i].event == event; ++i)
      slots[count++] = matches_[i].slot;
    events_[event].arrive(arrivals_, token, {slots.data(), count});
    fire(event);
  }
}

void EventMatcher::fire(std::uint32_t event) {
  while (events_[event].satisfied()) fired_.push_back({EventId(event), events_[event].take()});
}

void EventMatcher::recheck() {
  std::set<std::uint32_t> changed;
  for (auto& [source, share] : shares_) {
    const std::size_t peers = peer_count_(source);
    if (peers == share.peers) continue;
    share.peers = peers;
    for (const std::uint32_t event : share.events) events_[event].set_peers(source, peers);
    changed.insert(share.events.begin(), share.events.end());
  }
  for (const std::uint32_t event : changed) fire(event);
}

std::vector<Firing> EventMatcher::take_fired() {
  for (const Firing& firing : fired_) waiting_ -= firing.tokens.size();
  return std::exchange(fired_, {});
}

void EventMatcher::clear() {
  for (EventState& event : events_) event.clear();
  fired_.clear();
  waiting_ = 0;
}

std::string EventMatcher::full() const {
  const auto fullest = std::max_element(
      events_.begin(), events_.end(),
      [](const EventState& a, const EventState& b) { return a.waiting() < b.waiting(); });
  return fmt::format(
      "{} messages wait for conditional events, and at most {} may; most of them, {}, wait for "
      "event {}",
      waiting_, options_.max_waiting, fullest->waiting(), fullest->event().str());
}

}  // namespace muster::comm
