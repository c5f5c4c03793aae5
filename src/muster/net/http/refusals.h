#pragma once

#include <deque>

#include "muster/base/clock.h"
#include "muster/runtime/fd.h"

namespace muster::net {

/// Clients that a server has no room for: they get 503, and some time to read it. Never waits.
/// Not thread-safe.
class Refusals {
 public:
  /// Takes a socket that does not block.
  void add(FileDescriptor socket);
  /// Lets go of those that have read their answer or had time enough.
  void look();
  /// When to look again.
  [[nodiscard]] TimePoint next_look() const;

 private:
  struct Refused {
    FileDescriptor socket;
    TimePoint until;
  };
  std::deque<Refused> refused_;
};

}  // namespace muster::net
