#pragma once

#include <cstddef>
#include <vector>

#include "muster/comm/message/ids.h"

namespace muster::comm {

/// The sessions of messages that were sent, in order. Mostly it is one, which needs no memory of
/// its own. Not thread-safe.
class SessionIds {
 public:
  using value_type = SessionId;

  void push_back(const SessionId& session) {
    if (size_ == 0) [[likely]] {
      first_ = session;
      size_ = 1;
    } else {
      add_another(session);
    }
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const SessionId* data() const { return size_ > 1 ? many_.data() : &first_; }
  [[nodiscard]] const SessionId* begin() const { return data(); }
  [[nodiscard]] const SessionId* end() const { return data() + size_; }
  [[nodiscard]] const SessionId& operator[](std::size_t index) const { return data()[index]; }
  [[nodiscard]] const SessionId& front() const { return first_; }
  [[nodiscard]] const SessionId& back() const { return data()[size_ - 1]; }

  operator std::vector<SessionId>() const {  // NOLINT(google-explicit-constructor)
    return {begin(), end()};
  }

 private:
  void add_another(const SessionId& session);

  std::size_t size_ = 0;
  SessionId first_;
  std::vector<SessionId> many_;  // all of them when there are more than one
};

}  // namespace muster::comm
