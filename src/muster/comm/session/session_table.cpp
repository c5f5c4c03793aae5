#include "muster/comm/session/session_table.h"

#include <fmt/format.h>

#include "muster/comm/errc.h"
#include "muster/comm/session/session.h"

namespace muster::comm {
namespace {

// Sessions that others opened are keyed by the session alone: this proxy is one party of them.
constexpr PeerId kNobody(0xFFFFFFFFu);

}  // namespace

Result<void> SessionTable::open_task(const Message& request, PeerId peer) {
  if (find_mine(request.session_id, peer) != nullptr) return {};  // sent again, as a cached one is
  if (open_tasks_ >= kMaxOpenTasks) {
    return fail(
        Errc::would_block,
        fmt::format("{} tasks wait for a reply; receive replies before sending more", open_tasks_));
  }
  Slot& slot = mine_[index(request.session_id, peer) % kWindow];
  if (slot.waits_for_result()) aside_.emplace(Key{slot.session, slot.peer}, slot);
  slot.start(request, peer);
  ++open_tasks_;
  return {};
}

void SessionTable::cancel(const Message& request, PeerId peer) {
  if (request.session_type == SessionType::notification)
    return receipts_.cancel(request.session_id, peer);
  Slot* const slot = find_mine(request.session_id, peer);
  if (slot == nullptr || slot->stage != SessionStage::request) return;
  --open_tasks_;
  *slot = Slot{};
  aside_.erase(Key{request.session_id, peer});
}

SessionStage SessionTable::stage_of(const Message& request) const {
  const Slot& slot = theirs_[index(request.session_id, kNobody) % kWindow];
  return slot.holds(request.session_id, kNobody) ? slot.stage : SessionStage::request;
}

Result<void> SessionTable::reply(const Message& reply) {
  if (auto ok = check_move(reply.session_type, stage_of(reply), reply.session_stage); !ok)
    return ok;
  Slot& slot = theirs_[index(reply.session_id, kNobody) % kWindow];
  const MessageId last = slot.holds(reply.session_id, kNobody) ? slot.last_message : MessageId{};
  slot = Slot{reply.session_id, last, kNobody, reply.session_type, reply.session_stage};
  return {};
}

void SessionTable::undo_reply(const Message& reply, SessionStage before) {
  Slot& slot = theirs_[index(reply.session_id, kNobody) % kWindow];
  if (slot.holds(reply.session_id, kNobody)) slot.stage = before;
}

Arrival SessionTable::arrive(const Message& message, PeerId peer) {
  if (message.session_stage == SessionStage::request) {
    Slot& slot = theirs_[index(message.session_id, kNobody) % kWindow];
    if (slot.holds(message.session_id, kNobody)) {
      if (slot.last_message == message.message_id) return Arrival::duplicate;
      slot.last_message =
          message.message_id;  // several requests in one session, as a forward makes them
      return Arrival::fresh;
    }
    slot.start(message, kNobody);
    return Arrival::fresh;
  }
  if (message.session_type == SessionType::notification) {
    const auto receipt = receipts_.settle(message.session_id, peer);
    return receipt == ReceiptLog::Receipt::repeated ? Arrival::duplicate : Arrival::fresh;
  }
  Slot* const slot = find_mine(message.session_id, peer);
  if (slot == nullptr) return Arrival::fresh;  // not ours (a forwarded session), or long forgotten
  if (!check_move(slot->type, slot->stage, message.session_stage).has_value())
    return Arrival::duplicate;
  slot->last_message = message.message_id;
  advance_mine(*slot, message.session_stage);
  return Arrival::fresh;
}

std::vector<SessionId> SessionTable::lose(PeerId peer, const Name& name) {
  receipts_.lose(peer, name);
  std::vector<SessionId> lost;
  const auto close = [&](Slot& slot) {
    if (!slot.waits_for_result() || slot.peer != peer) return;
    lost.push_back(slot.session);
    --open_tasks_;
    slot = Slot{};
  };
  for (Slot& slot : mine_) close(slot);
  for (auto& [key, slot] : aside_) close(slot);
  std::erase_if(aside_, [](const auto& item) { return !item.second.session.valid(); });
  return lost;
}

SessionTable::Slot* SessionTable::find_mine(const SessionId& session, PeerId peer) {
  Slot& slot = mine_[index(session, peer) % kWindow];
  if (slot.holds(session, peer)) return &slot;
  if (aside_.empty()) return nullptr;
  const auto it = aside_.find(Key{session, peer});
  return it == aside_.end() ? nullptr : &it->second;
}

void SessionTable::advance_mine(Slot& slot, SessionStage stage) {
  slot.stage = stage;
  if (!is_closed(slot.type, stage)) return;
  --open_tasks_;
  if (!aside_.empty()) aside_.erase(Key{slot.session, slot.peer});
}

}  // namespace muster::comm
