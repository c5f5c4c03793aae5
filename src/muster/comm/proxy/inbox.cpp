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
  Slot& slot = slots_.append();
  slot.message = std::move(message);
  slot.taken = false;
}

bool Inbox::pop(std::optional<Message>& message) {
  if (size_ == 0) return false;
  Slot& slot = slots_.front();  // never a taken one: those are dropped at once
  if (slot.message.session_stage != SessionStage::request) {
    const auto it = replies_.find(slot.message.session_id);
    it->second.pop_front();
    if (it->second.empty()) replies_.erase(it);
  }
  remove(slot, message);
  return true;
}

// region take
std::optional<Message> Inbox::take(const SessionId& session) {
  std::optional<Message> message;
  if (const auto sequence = find(session)) remove(slots_[*sequence - first_], message);
  return message;
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

void Inbox::remove(Slot& slot, std::optional<Message>& message) {
  if (slot.message.session_stage == SessionStage::request) --counter(slot.message.session_id);
  --size_;
  bytes_ -= slot.message.body.size();
  slot.taken = true;
  message.emplace(std::move(slot.message));
  drop_taken_front();
}

void Inbox::drop_taken_front() {
  while (!slots_.empty() && slots_.front().taken) {
    slots_.pop_front();
    ++first_;
  }
}

}  // namespace muster::comm
