#include "muster/comm/proxy/waiter.h"

#include <algorithm>

namespace muster::comm {

Waiter::Waiter(std::span<const SessionId> sessions) : missing_(sessions.size()) {
  wanted_.reserve(sessions.size());
  for (const SessionId& session : sessions) wanted_.push_back({session, 1});
  std::sort(wanted_.begin(), wanted_.end(),
            [](const Wanted& a, const Wanted& b) { return a.session < b.session; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < wanted_.size(); ++i) {
    if (wanted_[i].session == wanted_[last].session) {
      ++wanted_[last].count;
    } else {
      wanted_[++last] = wanted_[i];
    }
  }
  if (!wanted_.empty()) wanted_.resize(last + 1);
  replies_.messages.reserve(sessions.size());
}

void Waiter::expect(const SessionId& session) {
  const auto it = std::lower_bound(
      wanted_.begin(), wanted_.end(), session,
      [](const Wanted& wanted, const SessionId& id) { return wanted.session < id; });
  if (it != wanted_.end() && it->session == session) {
    ++it->count;
  } else {
    wanted_.insert(it, {session, 1});
  }
  ++missing_;
}

const Waiter::Wanted* Waiter::find(const SessionId& session) const {
  const auto it = std::lower_bound(
      wanted_.begin(), wanted_.end(), session,
      [](const Wanted& wanted, const SessionId& id) { return wanted.session < id; });
  return it != wanted_.end() && it->session == session && it->count > 0 ? &*it : nullptr;
}

bool Waiter::settle_one(const SessionId& session) {
  const Wanted* const wanted = find(session);
  if (wanted == nullptr) return false;
  --wanted_[static_cast<std::size_t>(wanted - wanted_.data())].count;
  --missing_;
  return true;
}

bool Waiter::offer(Message& message) {
  if (!settle_one(message.session_id)) return false;
  replies_.messages.push_back(std::move(message));
  return true;
}

void Waiter::lose(const SessionId& session, const Name& peer) {
  if (!settle_one(session)) return;
  replies_.lost.push_back(peer);
  lost_sessions_.push_back(session);
}

std::vector<SessionId> Waiter::missing_sessions() const {
  std::vector<SessionId> sessions;
  for (const Wanted& wanted : wanted_) {
    if (wanted.count > 0) sessions.push_back(wanted.session);
  }
  return sessions;
}

}  // namespace muster::comm
