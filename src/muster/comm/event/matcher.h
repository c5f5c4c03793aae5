#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "muster/base/name.h"
#include "muster/base/result.h"
#include "muster/base/strong_id.h"
#include "muster/comm/event/event.h"
#include "muster/comm/event/event_state.h"

namespace muster::comm {

/// Counts up from 0 in the order of registration.
using EventId = StrongId<struct EventIdTag, std::uint32_t>;

/// An event that was satisfied, and the messages that did it.
struct Firing {
  EventId event;
  std::vector<std::uint64_t> tokens;  ///< in the order of arrival, each once
};

struct MatcherOptions {
  /// A message counts once for each event in which it waits or whose firing has not been taken.
  std::size_t max_waiting = 1'000'000;
};

/// Matches messages with conditional events. It never sees a message: the owner names each by a
/// token and keeps it until the token has come back as often as `push` said. The rules are in
/// README.md beside this file.
///
/// A push costs six lookups and the work in the events that match it, whatever the number of events
/// and of waiting messages. Not thread-safe.
class EventMatcher {
 public:
  /// How many peers match a source (a type, a name or `*`) now.
  using PeerCount = std::function<std::size_t(std::string_view source)>;

  explicit EventMatcher(PeerCount peer_count, MatcherOptions options = {});

  /// The event sees the messages that are pushed from now on. Its sources need not be known yet.
  EventId add(Event event);
  [[nodiscard]] const Event& event(EventId id) const { return events_[id.value()].event(); }

  /// Offers a message to every event; those that are satisfied by it fire, in the order of
  /// registration. Returns how many events took it: with 0 the message matches nothing and its
  /// token is forgotten. `Errc::would_block` when it would be one too many; then no event has taken
  /// it.
  Result<std::size_t> push(std::uint64_t token, std::string_view source,
                           std::string_view source_type, std::string_view tag);

  /// Peers have come or gone: counts them again, and fires what is satisfied now. Percentages stay
  /// as they were until this is called.
  void recheck();

  /// What has fired since the last call, in that order.
  [[nodiscard]] std::vector<Firing> take_fired();

  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  /// Forgets all messages, also those of firings that were not taken. The events stay.
  void clear();

 private:
  struct PatternView {
    std::string_view source;
    std::string_view tag;
  };
  struct PatternHash {
    using is_transparent = void;
    std::size_t operator()(PatternView pattern) const noexcept;
    std::size_t operator()(const EventState::Pattern& pattern) const noexcept {
      return (*this)(PatternView{pattern.source, pattern.tag});
    }
  };
  struct PatternEqual {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      return std::string_view(a.source) == std::string_view(b.source) &&
             std::string_view(a.tag) == std::string_view(b.tag);
    }
  };
  /// One slot of one event.
  struct Match {
    std::uint32_t event;
    EventState::SlotIndex slot;
  };
  struct Share {
    std::size_t peers = 0;
    std::vector<std::uint32_t> events;  // that ask for percentages of them
  };

  void find_matches(std::string_view source, std::string_view source_type, std::string_view tag);
  [[nodiscard]] std::size_t matched_events() const;
  void deliver(std::uint64_t token);
  void fire(std::uint32_t event);
  [[nodiscard]] std::string full() const;

  PeerCount peer_count_;
  MatcherOptions options_;
  std::deque<EventState> events_;  // by id
  std::unordered_map<EventState::Pattern, std::vector<Match>, PatternHash, PatternEqual> index_;
  std::map<Name, Share> shares_;  // by source
  std::vector<Firing> fired_;
  std::size_t waiting_ = 0;
  std::uint64_t arrivals_ = 0;
  std::vector<Match> matches_;  // of the push under way, by event; kept for its memory
};

}  // namespace muster::comm
