#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/message/message.h"
#include "muster/comm/session/receipt_log.h"

namespace muster::comm {

/// How an arriving message fits the session it names.
enum class Arrival : std::uint8_t {
  fresh,      ///< deliver it
  duplicate,  ///< the same message again, or a stage that was reached before: drop it
};

/// Remembers where sessions stand, as one proxy sees them: those it opened (per peer, since a
/// broadcast opens one with each) and those that others opened with it. Constant time and memory:
/// the newest `kWindow` tasks of ours and sessions of others live in tables of fixed size. A task
/// of ours that is still open when its place is needed moves aside into a map. Notifications of
/// ours are in the `ReceiptLog`. Anything else is forgotten. A pure state machine. Not thread-safe.
class SessionTable {
 public:
  static constexpr std::size_t kWindow = 16384;
  /// Tasks that were asked for and not yet answered. More is a leak in the program; `open` refuses
  /// them.
  static constexpr std::size_t kMaxOpenTasks = std::size_t{1} << 20;

  SessionTable() : mine_(kWindow), theirs_(kWindow) {}

  /// We send a request to `peer`.
  Result<void> open(const Message& request, PeerId peer) {
    if (request.session_type == SessionType::task) return open_task(request, peer);
    receipts_.add(request.session_id, peer);
    return {};
  }
  /// The request could not be sent after all.
  void cancel(const Message& request, PeerId peer);
  /// We reply. Refuses what the session does not allow; the caller sends only if this succeeds.
  Result<void> reply(const Message& reply);
  /// A reply could not be sent after all: the session is where it was before.
  void undo_reply(const Message& reply, SessionStage before);
  /// The stage that we have reached in a session that another opened: what the next reply is
  /// checked against.
  [[nodiscard]] SessionStage stage_of(const Message& request) const;

  /// A request or a reply arrives from `peer`.
  Arrival arrive(const Message& message, PeerId peer);

  /// The peer is gone. Returns our tasks with it that still wait for an answer; they are closed.
  /// Of notifications ask `take_lost`.
  [[nodiscard]] std::vector<SessionId> lose(PeerId peer, const Name& name);
  [[nodiscard]] bool has_lost() const { return receipts_.has_lost(); }
  /// Who owed the receipt of this notification that will not come; each once.
  [[nodiscard]] std::optional<Name> take_lost(const SessionId& session) {
    return receipts_.take_lost(session);
  }

  [[nodiscard]] std::size_t open_tasks() const { return open_tasks_; }

 private:
  struct Slot {
    SessionId session;
    MessageId last_message;
    PeerId peer;
    SessionType type = SessionType::task;
    SessionStage stage = SessionStage::request;

    [[nodiscard]] bool holds(const SessionId& id, PeerId with) const {
      return session == id && peer == with;
    }
    [[nodiscard]] bool waits_for_result() const {
      return session.valid() && type == SessionType::task && stage != SessionStage::complete;
    }
    // Field by field: a slot that is made elsewhere and copied is read in other pieces than it was
    // written in, which takes longer than all the rest.
    void start(const Message& request, PeerId with) {
      session = request.session_id;
      last_message = request.message_id;
      peer = with;
      type = request.session_type;
      stage = SessionStage::request;
    }
  };
  struct Key {
    SessionId session;
    PeerId peer;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept { return index(key.session, key.peer); }
  };

  // A session with peers 0, 1, 2 … (a broadcast) falls into places far apart.
  static std::size_t index(const SessionId& session, PeerId peer) {
    return std::hash<SessionId>{}(session) + static_cast<std::size_t>(peer.value()) * 7919;
  }
  Result<void> open_task(const Message& request, PeerId peer);
  Slot* find_mine(const SessionId& session, PeerId peer);
  void advance_mine(Slot& slot, SessionStage stage);

  std::vector<Slot> mine_;
  std::vector<Slot> theirs_;
  std::unordered_map<Key, Slot, KeyHash> aside_;  // open tasks of ours whose place was needed
  ReceiptLog receipts_;
  std::size_t open_tasks_ = 0;
};

}  // namespace muster::comm
