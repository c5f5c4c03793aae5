#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/event/event.h"
#include "muster/comm/event/matcher.h"
#include "muster/comm/event/slab.h"
#include "muster/comm/message/message.h"
#include "muster/comm/proxy/peer_snapshot.h"

namespace muster::comm {

/// Calls handlers when the messages that their conditional events ask for have come:
///
///     RegisterTable table({.peers = [&] { return proxy.peers(); }});
///     table.on("actor:rollout:60%", [](std::vector<Message> rollouts) { … });
///     table.push(message);
///     table.trigger();
///
/// Every event sees every message that is pushed after it was registered; a message that no event
/// asks for is dropped. Events and handlers are never removed. Not thread-safe; a handler may use
/// the table that calls it.
class RegisterTable {
 public:
  /// Gets the messages in the order of their arrival.
  using Handler = std::function<void(std::vector<Message>)>;

  /// A satisfied event: its handler, which lives as long as the table, and the messages that are
  /// its now.
  struct Triggered {
    const Handler& handler;
    std::vector<Message> messages;
  };

  /// Follows the peers as they come and go.
  explicit RegisterTable(PeerSource peers, MatcherOptions options = {});
  /// With peers that stay the same.
  explicit RegisterTable(PeersByType peers, MatcherOptions options = {});
  RegisterTable(const RegisterTable&) = delete;  // the matcher asks this object for the peers
  RegisterTable& operator=(const RegisterTable&) = delete;

  EventId register_event_handler(Event event, Handler handler);
  /// The same, to be chained.
  RegisterTable& on(Event event, Handler handler) {
    register_event_handler(std::move(event), std::move(handler));
    return *this;
  }

  /// False when no event asks for such a message. `Errc::would_block` when too many messages wait
  /// already. Calls no handler.
  Result<bool> push(Message message);

  /// What is satisfied, in the order in which it became so, for the caller to call.
  [[nodiscard]] std::vector<Triggered> get();
  /// Calls the next handler that is due; false when none is. What the handler throws comes out of
  /// here, and its messages are gone.
  bool trigger_next();
  /// Calls all handlers that are due, also those that become due meanwhile; returns how many calls
  /// it were.
  std::size_t trigger();

  /// A message counts once for each event in which it waits.
  [[nodiscard]] std::size_t waiting() const;
  /// Forgets all messages; the events and handlers stay.
  void clear();

 private:
  struct Held {
    Message message;
    std::size_t events = 0;  // in which it still waits
  };

  void collect();
  [[nodiscard]] Triggered next();
  [[nodiscard]] Message release(std::uint64_t token);

  PeerSnapshot peers_;
  EventMatcher matcher_;
  std::deque<Handler> handlers_;  // by event id
  Slab<Held> held_;               // by token
  std::deque<Firing> due_;
};

}  // namespace muster::comm
