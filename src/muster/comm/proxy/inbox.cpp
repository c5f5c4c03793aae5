#include "muster/comm/proxy/inbox.h"

#include <utility>

namespace muster::comm {

void Inbox::push(Message&& message) {
  Slot& slot = next_slot();
  next_ = nullptr;
  if (message.session_stage == SessionStage::request) {
    ++counter(message.session_id);
  } else {
    replies_[message.session_id].push_back(first_ + slots_.size() - 1);
  }
  ++size_;
  slot.bytes = message.body.size();
  bytes_ += slot.bytes;
  if (&slot.message != &message) slot.message = std::move(message);
  slot.taken = false;
}

void Inbox::drop_front() {
  Slot& slot = slots_.front();  // never a taken one: those are dropped at once
  if (slot.message.session_stage != SessionStage::request) {
    const auto it = replies_.find(slot.message.session_id);
    it->second.pop_front();
    if (it->second.empty()) replies_.erase(it);
  }
  remove(slot);
}

// region take
std::optional<Message> Inbox::take(const SessionId& session) {
  const auto sequence = find(session);
  if (!sequence) return std::nullopt;
  Slot& slot = slots_[*sequence - first_];
  std::optional<Message> message(std::move(slot.message));
  remove(slot);
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
    const Slot& slot = slots_[i];
    if (!slot.taken && &slot != next_ && slot.message.session_id == session) return first_ + i;
  }
  return std::nullopt;
}
// endregion

// Its message was moved from, which leaves its session and stage.
void Inbox::remove(Slot& slot) {
  if (slot.message.session_stage == SessionStage::request) --counter(slot.message.session_id);
  --size_;
  bytes_ -= slot.bytes;
  slot.taken = true;
  drop_taken_front();
}

void Inbox::drop_taken_front() {
  // Nothing waits: the free place goes too, because the queue gives back what a burst took only
  // when it runs empty.
  if (size_ == 0 && next_ != nullptr) std::exchange(next_, nullptr)->taken = true;
  while (!slots_.empty() && slots_.front().taken && &slots_.front() != next_) {
    slots_.pop_front();
    ++first_;
  }
}

}  // namespace muster::comm
