#include "muster/comm/proxy/inbox.h"

#include <utility>

namespace muster::comm {

void Inbox::push(Message&& message) {
  if (message.session_stage == SessionStage::request) {
    ++counter(message.session_id);
  } else {
    replies_[message.session_id].push_back(first_ + slots_.size());
  }
  ++size_;
  bytes_ += message.body.size();
  slots_.push_back(Slot{std::move(message)});
}

std::optional<Message> Inbox::pop() {
  if (size_ == 0) return std::nullopt;
  Slot& slot = slots_.front();  // never a taken one: those are dropped at once
  if (slot.message.session_stage != SessionStage::request) {
    const auto it = replies_.find(slot.message.session_id);
    it->second.pop_front();
    if (it->second.empty()) replies_.erase(it);
  }
  return remove(slot);
}

// region take
std::optional<Message> Inbox::take(const SessionId& session) {
  const auto sequence = find(session);
  if (!sequence) return std::nullopt;
  return remove(slots_[*sequence - first_]);
}

std::optional<std::uint64_t> Inbox::find(const SessionId& session) {
  if (const auto it = replies_.find(session); it != replies_.end()) {
    const std::uint64_t sequence = it->second.front();
    it->second.pop_front();
    if (it->second.empty()) replies_.erase(it);
    return sequence;
  }
  if (counter(session) == 0) return std::nullopt;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].taken && slots_[i].message.session_id == session) return first_ + i;
  }
  return std::nullopt;
}
// endregion

Message Inbox::remove(Slot& slot) {
  if (slot.message.session_stage == SessionStage::request) --counter(slot.message.session_id);
  --size_;
  bytes_ -= slot.message.body.size();
  slot.taken = true;
  Message message = std::move(slot.message);
  drop_taken_front();
  return message;
}

void Inbox::drop_taken_front() {
  while (!slots_.empty() && slots_.front().taken) {
    slots_.pop_front();
    ++first_;
  }
}

}  // namespace muster::comm
