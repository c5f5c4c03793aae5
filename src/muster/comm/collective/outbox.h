#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

namespace muster::comm::collective {

/// Control messages that a member must not miss: what cannot be sent now, because the member is
/// silent for the moment or its queue is full, is kept and goes out when it can, in order. A rank
/// that is not told that the group has ended would wait for ever. Not thread-safe.
class Outbox {
 public:
  enum class Attempt : std::uint8_t {
    sent,
    full,     ///< there is no room; soon there will be
    away,     ///< the member may come back
    refused,  ///< and would always be
  };
  using Send = std::function<Attempt(const std::string& member, const std::string& text)>;

  /// Of one member. More would mean that it is away for good.
  static constexpr std::size_t kMost = 4096;

  explicit Outbox(Send send) : send_(std::move(send)) {}

  void post(const std::string& member, std::string text);
  /// Tries what is kept again.
  void retry();
  /// The member has ended.
  void forget(const std::string& member) { kept_.erase(member); }
  /// Whether something is kept for a member that is there.
  [[nodiscard]] bool waits_for_room() const;

 private:
  struct Kept {
    std::deque<std::string> texts;  // oldest first, never empty
    Attempt last = Attempt::away;
  };
  /// Sends the oldest as long as it can; true when none is left.
  bool drain(const std::string& member, Kept& kept);

  Send send_;
  std::map<std::string, Kept> kept_;  // by member
};

}  // namespace muster::comm::collective
