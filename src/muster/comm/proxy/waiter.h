#pragma once

#include <span>
#include <utility>
#include <vector>

#include "muster/comm/proxy/proxy.h"

namespace muster::comm {

/// A call that waits for messages of certain sessions: which, how many of each are still missing,
/// and what has come. Not thread-safe.
class Waiter {
 public:
  explicit Waiter(std::span<const SessionId> sessions);

  /// Waits for one more message of this session.
  void expect(const SessionId& session);

  [[nodiscard]] bool done() const { return missing_ == 0; }
  [[nodiscard]] std::size_t missing() const { return missing_; }
  [[nodiscard]] bool wants(const SessionId& session) const { return find(session) != nullptr; }

  /// Takes the message if it is wanted.
  bool offer(Message& message);
  /// One reply of this session will not come.
  void lose(const SessionId& session, const Name& peer);

  /// Sessions of which something is missing, each once.
  [[nodiscard]] std::vector<SessionId> missing_sessions() const;
  [[nodiscard]] Replies take() { return std::move(replies_); }
  /// The sessions of `Replies::lost`, in the same order.
  [[nodiscard]] const std::vector<SessionId>& lost_sessions() const { return lost_sessions_; }

 private:
  struct Wanted {
    SessionId session;
    std::size_t count;
  };

  const Wanted* find(const SessionId& session) const;
  bool settle_one(const SessionId& session);

  std::vector<Wanted> wanted_;  // sorted by session
  std::size_t missing_;
  Replies replies_;
  std::vector<SessionId> lost_sessions_;
};

}  // namespace muster::comm
