#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/proxy/inbox.h"
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

/// The logic of a proxy without threads, sleep or sockets: who the peers are, where each message
/// goes, what has arrived and who waits for it. Time comes from a clock, messages from the drivers,
/// membership from the lists that the discovery store gives. The proxy wraps it in a lock; the
/// simulation drives many of them from one thread. Not thread-safe.
class Router final : public DriverSink {
 public:
  /// `drivers` in order of preference; they, `self` and `clock` outlive the router.
  Router(const Entry& self, RouterOptions options, const Clock& clock,
         std::vector<Driver*> drivers);

  // Membership.

  /// The store's list of live entries.
  void update(const std::vector<Entry>& entries);
  /// The kernel says that the peer's process is gone; what it sent before may still be on its way.
  void process_exited(PeerId peer);
  /// Peers whose processes can be watched on this host since the last call.
  [[nodiscard]] std::vector<std::pair<PeerId, std::int64_t>> take_watchable();

  [[nodiscard]] bool is_gone(PeerId peer) const;

  [[nodiscard]] std::map<Name, std::vector<Name>> peers() const;
  [[nodiscard]] Name type_of(std::string_view name) const;
  /// The life of a peer that is there or silent; 0 for none.
  [[nodiscard]] InstanceId instance_of(std::string_view name) const;
  /// How many peers of a type have been there, if only for a moment.
  [[nodiscard]] std::size_t count_met(std::string_view type) const;
  /// How many peers of a type are there.
  [[nodiscard]] std::size_t count(std::string_view type) const;
  [[nodiscard]] std::vector<Name> names(std::string_view type) const;

  // Sending.

  enum class Step : std::uint8_t { sent, full, away };

  /// Fills in ids and source, and checks what can be checked before anything is sent.
  Result<void> prepare(Message& message);
  /// Says when the peer is away and no more can be kept for it.
  [[nodiscard]] Result<void> check_room(const Message& message) const;
  /// Tries to send one prepared message, after those that were kept for the peer. Appends the
  /// sessions of all that went out.
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
  bool pop(std::optional<Message>& message) { return inbox_.pop(message); }
  [[nodiscard]] bool inbox_full() const { return inbox_.full(); }
  [[nodiscard]] std::size_t inbox_size() const { return inbox_.size(); }
  void add(Waiter& waiter);
  void remove(Waiter& waiter);
  /// The call that waited ends with an error: what it got is there for the next one that asks.
  void give_back(Waiter& waiter);
  /// When `poll` has something to do even if nothing arrives.
  [[nodiscard]] Deadline next_wakeup() const;

  [[nodiscard]] ProxyCounters counters() const;
  /// Changes whenever a peer comes or goes.
  [[nodiscard]] std::uint64_t membership_version() const { return membership_version_; }

  // DriverSink.
  std::optional<PeerId> on_hello(const Entry& entry) override;
  void on_message(PeerId from, Message&& message) override;
  void on_departure(PeerId peer, Departure departure, const std::string& why) override;

 private:
  enum class State : std::uint8_t {
    there,
    silent,  // its lease ran out, or its host does not answer: it may come back as it was
    gone,
  };
  enum class Retire : bool { no, yes };
  struct Member;
  struct Peer {
    Entry entry;
    Member* member;  // members are never removed
    Driver* driver;  // outlives the router
    State state = State::there;
    bool answered = false;       // before that it is not shown to the program
    bool listed = false;         // the store has shown it
    Deadline departs_at = {};    // when it will count as gone, or as silent if it fades
    bool fades = false;          // the store does not list it any more
    Retire retire = Retire::no;  // then
    std::string reason = {};
  };
  struct Member {
    Member(Name its_name, Name its_type) : name(std::move(its_name)), type(std::move(its_type)) {}

    Name name;
    Name type;
    std::optional<PeerId> current;
    std::deque<Message> kept;
    bool met = false;                 // it has answered once
    std::size_t lives = 0;            // how often it was admitted
    std::vector<InstanceId> retired;  // earlier lives, which may not come back

    [[nodiscard]] bool has_retired(InstanceId instance) const;
  };
  using Members = std::unordered_map<Name, std::unique_ptr<Member>, NameHash, NameEqual>;

  [[nodiscard]] Member* find(std::string_view name) const;
  [[nodiscard]] const Peer* there(const Member& member) const;
  [[nodiscard]] bool shown(const Member& member) const;
  [[nodiscard]] Driver* choose_driver(const Entry& entry) const;
  std::optional<PeerId> admit(const Entry& entry);
  void silence(PeerId id, const std::string& why);
  void resume(Peer& peer);
  /// A retired instance is not taken back.
  void depart(PeerId id, Retire retire, const std::string& why);
  void report_lost(PeerId id);
  void keep_undelivered(PeerId id);
  void note_answers();
  void depart_when_due();
  void send_kept_replies();
  [[nodiscard]] std::string known_names() const;

  const Entry& self_;
  RouterOptions options_;
  const Clock& clock_;
  std::vector<Driver*> drivers_;
  std::uint64_t last_session_ = 0;  // of those made here
  std::uint64_t last_message_ = 0;
  Members members_;
  std::vector<Peer> peers_;  // by PeerId
  std::vector<PeerId> unwatched_;
  std::vector<PeerId> unanswered_;
  std::size_t kept_replies_ = 0;  // in all members' kept messages
  std::size_t departing_ = 0;     // peers with departs_at
  mutable Member* last_found_ = nullptr;
  SessionTable sessions_;
  Inbox inbox_;
  std::vector<Waiter*> waiters_;  // each removes itself before it ends
  std::unordered_map<SessionId, std::vector<Name>>
      lost_;  // replies that will not come and that nobody was told about
  ProxyCounters counters_;
  std::uint64_t membership_version_ = 0;
};

}  // namespace muster::comm
