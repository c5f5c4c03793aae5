#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "muster/base/ring_queue.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/message/message.h"

namespace muster::comm {

// region class
/// Messages that arrived and that nobody has taken yet, in the order of their arrival. `take` finds
/// those of one session without looking at the others: replies are indexed; requests, which are
/// hardly ever asked for by session, are only counted by a hash of it, so that a stream of requests
/// costs no index. Not thread-safe.
class Inbox {
 public:
  explicit Inbox(const QueueLimits& limits)
      : max_messages_(limits.inbox_messages), max_bytes_(limits.inbox_bytes) {}

  /// True when senders should wait. A full inbox still takes what is pushed.
  [[nodiscard]] bool full() const { return size_ >= max_messages_ || bytes_ >= max_bytes_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// The place of the next message, which holds what an earlier one left there. A message that is
  /// made here is pushed without a move. Valid until the inbox is changed.
  [[nodiscard]] Message& place() { return next_slot().message; }
  void push(Message&& message);
  /// The oldest message.
  [[nodiscard]] std::optional<Message> pop() {
    if (size_ == 0) return std::nullopt;
    std::optional<Message> message(std::move(front()));
    drop_front();
    return message;
  }
  /// The same in two steps, because every move of a message costs: the oldest message, which must
  /// be there, is moved from, and then dropped.
  [[nodiscard]] Message& front() { return slots_.front().message; }
  void drop_front();
  /// The oldest message of a session.
  [[nodiscard]] std::optional<Message> take(const SessionId& session);

 private:
  struct Slot {
    Message message;
    std::size_t bytes = 0;  // of its body, also when that was moved away
    bool taken = false;
  };
  using Filter = std::array<std::uint32_t, 4096>;

  std::uint32_t& counter(const SessionId& session) {
    return filter_[std::hash<SessionId>{}(session) % filter_.size()];
  }
  Slot& next_slot() {
    if (next_ == nullptr) next_ = &slots_.append();
    return *next_;
  }
  std::optional<std::uint64_t> find(const SessionId& session);
  void remove(Slot& slot);
  void drop_taken_front();

  std::size_t max_messages_;
  std::size_t max_bytes_;
  RingQueue<Slot> slots_;  // the last one is free while `next_` points to it
  Slot* next_ = nullptr;
  std::uint64_t first_ = 0;  // the sequence number of slots_.front()
  std::unordered_map<SessionId, std::deque<std::uint64_t>> replies_;  // sequence numbers
  Filter filter_{};  // waiting requests by hash of their session
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
};
// endregion

}  // namespace muster::comm
