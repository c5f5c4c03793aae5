#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/driver/placing_sink.h"
#include "muster/comm/proxy/inbox.h"
#include "muster/comm/proxy/membership.h"
#include "muster/comm/proxy/options.h"
#include "muster/comm/proxy/proxy.h"
#include "muster/comm/proxy/waiter.h"
#include "muster/comm/session/session_table.h"

namespace muster::comm {

/// Bugs that the simulation plants to see that it finds them. All off outside tests.
struct RouterFaults {
  bool flush_cache_last = false;      ///< messages kept for an absent peer go out after the new one
  bool forget_lost_sessions = false;  ///< nobody is told that a reply will not come
};

struct RouterOptions {
  RejoinOptions rejoin;
  QueueLimits limits;
  Duration lease = std::chrono::seconds(3);
  RouterFaults faults;
};

/// The logic of a proxy without threads, sleep or sockets: where each message goes, what has
/// arrived and who waits for it; who the peers are it leaves to `Membership`. Time comes from a
/// clock, messages from the drivers, membership from the lists that the discovery store gives. The
/// proxy wraps it in a lock; the simulation drives many of them from one thread. Not thread-safe.
class Router final : public PlacingSink, private Membership::Listener {
 public:
  /// `drivers` in order of preference; they, `self` and `clock` outlive the router.
  Router(const Entry& self, RouterOptions options, const Clock& clock,
         std::vector<Driver*> drivers);

  // Membership; see Membership.

  void update(const std::vector<Entry>& entries) { members_.update(entries); }
  void process_exited(PeerId peer) { members_.process_exited(peer); }
  [[nodiscard]] std::vector<std::pair<PeerId, Entry>> take_watchable() {
    return members_.take_watchable();
  }
  [[nodiscard]] bool take_forgotten() { return members_.take_forgotten(); }
  [[nodiscard]] bool is_gone(PeerId peer) const { return members_.find(peer) == nullptr; }
  [[nodiscard]] std::size_t remembered() const { return members_.remembered(); }
  [[nodiscard]] std::map<Name, std::vector<Name>> peers() const { return members_.peers(); }
  [[nodiscard]] std::vector<Name> silent_peers() const { return members_.silent(); }
  [[nodiscard]] Name type_of(std::string_view name) const { return members_.type_of(name); }
  [[nodiscard]] InstanceId instance_of(std::string_view name) const {
    return members_.instance_of(name);
  }
  [[nodiscard]] std::size_t count_met(std::string_view type) const {
    return members_.count_met(type);
  }
  [[nodiscard]] std::size_t count(std::string_view type) const { return members_.count(type); }
  [[nodiscard]] std::vector<Name> names(std::string_view type) const {
    return members_.names(type);
  }
  [[nodiscard]] std::uint64_t membership_version() const { return members_.version(); }

  // Sending.

  enum class Step : std::uint8_t { sent, full, away };

  /// Fills in ids and source, and checks what can be checked before anything is sent.
  Result<void> prepare(Message& message);
  /// Says when the peer is away and no more can be kept for it.
  [[nodiscard]] Result<void> check_room(const Message& message) const;
  /// Tries to send one prepared message, after those that were kept for the peer. Appends the
  /// sessions of all that went out.
  /// A silent peer gets its replies, and nothing else.
  Step try_send(const Message& message, SessionIds& sessions);
  /// Keeps a message for a peer that is away. `Errc::pending` tells that it was kept or why it was
  /// not; `Errc::peer_connection` where rejoin is off.
  [[nodiscard]] Error keep(const Message& message);
  /// Makes the reply to `message`, and moves its session on. Undone by `undo_reply` when it cannot
  /// be sent.
  Result<Message> make_reply(const Message& message, Tag tag, Body body, Acknowledge acknowledge);
  void undo_reply(const Message& reply, SessionStage before) {
    sessions_.undo_reply(reply, before);
  }
  [[nodiscard]] SessionStage stage_of(const Message& message) const {
    return sessions_.stage_of(message);
  }
  void flush();
  /// True when everything that was sent to peers that are there has arrived.
  [[nodiscard]] bool drained() const;

  // Receiving.

  /// Lets the drivers deliver and does what is due. Returns how many messages were delivered.
  std::size_t poll();
  /// Lets the drivers accept and notice departures.
  void control();
  [[nodiscard]] std::optional<Message> pop() { return inbox_.pop(); }
  [[nodiscard]] Message& front() { return inbox_.front(); }
  void drop_front() { inbox_.drop_front(); }
  [[nodiscard]] bool inbox_full() const { return inbox_.full(); }
  [[nodiscard]] std::size_t inbox_size() const { return inbox_.size(); }
  void add(Waiter& waiter);
  void remove(Waiter& waiter);
  /// The call that waited ends with an error: what it got is there for the next one that asks.
  void give_back(Waiter& waiter);
  /// When `poll` has something to do even if nothing arrives.
  [[nodiscard]] Deadline next_wakeup() const;

  [[nodiscard]] ProxyCounters counters() const;
  /// Forgets the peers and the drivers, which may end before it then.
  void close();

  // PlacingSink.
  std::optional<PeerId> on_hello(const Entry& entry) override { return members_.on_hello(entry); }
  [[nodiscard]] Message& place() override { return inbox_.place(); }
  void on_message(PeerId from, Message&& message) override;
  void on_departure(PeerId peer, Departure departure, const std::string& why) override {
    members_.on_departure(peer, departure, why);
  }

 private:
  using Peer = Membership::Peer;
  using Member = Membership::Member;

  // Membership::Listener.
  void on_leaving(const Peer& peer) override;
  void on_lost(const Peer& peer) override;
  void on_forgotten(Member& member) override;

  /// Tells the waiter what it waits for in vain and nobody was told before.
  void tell_lost(Waiter& waiter);
  /// Should it come back, it goes on where it was, and then it waits for its replies.
  Step reply_to_silent(const Member& member, const Message& reply, SessionIds& sessions);
  void note_kept_replies(Member& member, std::ptrdiff_t more);
  void send_kept_replies();

  const Entry& self_;
  RouterOptions options_;
  std::vector<Driver*> drivers_;
  std::uint64_t last_session_ = 0;  // of those made here
  std::uint64_t last_message_ = 0;
  Membership members_;
  std::unordered_set<Member*> owed_;    // members with kept replies
  std::uint64_t replies_tried_at_ = 0;  // the membership version
  SessionTable sessions_;
  Inbox inbox_;
  std::vector<Waiter*> waiters_;  // each removes itself before it ends
  std::unordered_map<SessionId, std::vector<Name>>
      lost_;  // replies that will not come and that nobody was told about
  ProxyCounters counters_;
};

}  // namespace muster::comm
