#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/proxy/options.h"

namespace muster::comm {

/// Who the peers of a proxy are: who came, who is silent, who is gone and may not come back, and
/// which process has which name. Pure decisions about what the discovery store lists, what the
/// drivers and the kernel tell, and time; it connects and disconnects the drivers, and moves no
/// messages. Not thread-safe.
class Membership {
 public:
  enum class State : std::uint8_t {
    there,
    silent,  ///< its lease ran out, or its host does not answer: it may come back as it was
  };
  enum class Retire : bool { no, yes };
  struct Member;
  /// One life of a member; gone with its departure.
  struct Peer {
    PeerId id;
    Entry entry;
    Member* member;  // whose `current` it is, and which therefore stays
    Driver* driver;  // outlives the membership
    State state = State::there;
    bool answered = false;        // before that it is not shown to the program
    bool listed = false;          // the store has shown it
    std::uint64_t update = 0;     // the last list that had it
    std::uint64_t met_after = 0;  // the last list before it came
    bool exited = false;          // its process ended: nothing brings it back
    Deadline departs_at = {};     // when it will count as gone, or as silent if it fades
    bool fades = false;           // the store does not list it any more
    Retire retire = Retire::no;   // then
    std::string reason = {};
  };
  /// A name, and who has or had it.
  struct Member {
    Member(Name its_name, Name its_type) : name(std::move(its_name)), type(std::move(its_type)) {}

    Name name;
    Name type;
    Peer* current = nullptr;   // in peers_
    std::deque<Message> kept;  // the router's, while it is away
    std::size_t kept_replies = 0;
    bool met = false;             // it has answered once
    std::size_t lives = 0;        // how often it was admitted
    std::uint64_t departure = 0;  // the number of the last one
    std::string reason = {};      // of the last one
  };

  /// What the messages of a peer depend on.
  class Listener {
   public:
    /// The peer is gone, and its driver will forget it when this returns.
    virtual void on_leaving(const Peer& peer) = 0;
    /// Who waits for the peer waits in vain: it is silent or gone.
    virtual void on_lost(const Peer& peer) = 0;
    /// The name is remembered no longer.
    virtual void on_forgotten(Member& member) = 0;

   protected:
    ~Listener() = default;
  };

  struct Options {
    RejoinOptions rejoin;
    Duration lease = std::chrono::seconds(3);
  };

  /// `drivers` in order of preference; they, `self`, `clock` and `listener` outlive this.
  Membership(const Entry& self, Options options, const Clock& clock, std::vector<Driver*> drivers,
             Listener& listener);

  /// The store's list of live entries.
  void update(const std::vector<Entry>& entries);
  /// Somebody knocks. Nothing when it is not let in.
  std::optional<PeerId> on_hello(const Entry& entry);
  void on_departure(PeerId peer, Departure departure, const std::string& why);
  /// The kernel says that the peer's process is gone; what it sent before may still be on its way.
  void process_exited(PeerId peer);
  /// The peer was heard.
  void resume(Peer& peer);
  /// Does what is due: takes note of who has answered, and lets go of those whose time is up.
  void poll();
  [[nodiscard]] Deadline next_wakeup() const;
  /// Forgets the peers and the drivers, which may end before it then.
  void close();

  /// Peers whose processes can be watched on this host since the last call.
  [[nodiscard]] std::vector<std::pair<PeerId, Entry>> take_watchable();
  /// Whether, since this was last asked, a peer forgot us although it lives.
  [[nodiscard]] bool take_forgotten() { return std::exchange(forgotten_, false); }

  [[nodiscard]] Member* find(const Name& name) const {
    return last_found_ != nullptr && last_found_->name == name ? last_found_ : look_up(name);
  }
  [[nodiscard]] Peer* find(PeerId id) const {
    return last_peer_ != nullptr && last_peer_->id == id ? last_peer_ : look_up(id);
  }
  /// The peer, unless it is silent or gone.
  [[nodiscard]] static const Peer* there(const Member& member) {
    const Peer* const peer = member.current;
    return peer != nullptr && peer->state == State::there ? peer : nullptr;
  }
  /// Whether everything that was sent to peers that are there has arrived.
  [[nodiscard]] bool drained() const;

  [[nodiscard]] std::map<Name, std::vector<Name>> peers() const;
  /// Those that have answered and are silent now.
  [[nodiscard]] std::vector<Name> silent() const;
  [[nodiscard]] Name type_of(std::string_view name) const;
  /// The life of a peer that is there or silent; 0 for none.
  [[nodiscard]] InstanceId instance_of(std::string_view name) const;
  /// How many peers of a type have been there, if only for a moment.
  [[nodiscard]] std::size_t count_met(std::string_view type) const;
  /// How many peers of a type are there.
  [[nodiscard]] std::size_t count(std::string_view type) const;
  [[nodiscard]] std::vector<Name> names(std::string_view type) const;
  /// How many peers, names and former lives are held: bounded however many come and go.
  [[nodiscard]] std::size_t remembered() const;
  /// Changes whenever a peer comes or goes.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// How often peers came back.
  [[nodiscard]] std::uint64_t rejoins() const { return rejoins_; }

  /// "no peer is named 'actr' (did you mean 'actor'?); known: actor".
  [[nodiscard]] std::string unknown(std::string_view name) const;
  /// "peer 'a' is gone (its process ended)".
  [[nodiscard]] static std::string absence_of(const Member& member);

 private:
  using Members = std::unordered_map<Name, std::unique_ptr<Member>, NameHash, NameEqual>;

  [[nodiscard]] Member* look_up(std::string_view name) const;
  [[nodiscard]] Peer* look_up(PeerId id) const;
  [[nodiscard]] static bool shown(const Member& member);
  /// Whether the list that is applied now may be older than the knock by which the peer came.
  [[nodiscard]] bool younger_than_list(const Peer& peer) const;
  [[nodiscard]] Driver* choose_driver(const Entry& entry) const;
  Peer* admit(const Entry& entry);
  [[nodiscard]] bool watchable(const Entry& entry) const;
  void silence(Peer& peer, const std::string& why);
  void set_departure(Peer& peer, Deadline at);
  /// Ends the peer. A retired instance is not taken back.
  void depart(Peer& peer, Retire retire, const std::string& why);
  void retire(const Entry& entry);
  void note_absence(Member& member);
  void forget(Member& member);
  void note_answers();
  void depart_when_due();
  [[nodiscard]] std::vector<std::string> known_names() const;

  const Entry& self_;
  Options options_;
  const Clock& clock_;
  std::vector<Driver*> drivers_;
  Listener& listener_;
  std::uint32_t next_peer_ = 0;
  std::uint64_t last_update_ = 0;
  std::uint64_t last_departure_ = 0;
  Members members_;
  std::unordered_map<PeerId, std::unique_ptr<Peer>> peers_;
  std::set<std::pair<TimePoint, PeerId>> departures_;  // peers with departs_at
  std::deque<std::pair<Name, std::uint64_t>> absent_;  // who left, and which departure it was
  std::unordered_set<InstanceId> retired_;             // earlier lives, which may not come back
  std::deque<std::pair<InstanceId, std::int64_t>> retired_order_;  // with their births
  std::int64_t forgotten_birth_ = 0;  // of the youngest life that is not in retired_ any more
  std::vector<PeerId> unwatched_;
  std::vector<PeerId> unanswered_;
  mutable Member* last_found_ = nullptr;
  mutable Peer* last_peer_ = nullptr;
  mutable std::unordered_map<Name, std::size_t, NameHash, NameEqual> counts_;  // of shown peers
  mutable std::optional<std::uint64_t> counted_at_;                            // the version
  std::uint64_t version_ = 0;
  std::uint64_t rejoins_ = 0;
  bool forgotten_ = false;
};

}  // namespace muster::comm
