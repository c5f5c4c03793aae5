#pragma once

#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/discovery/entry.h"

namespace muster::comm {

/// Where the members of a group find each other. An entry lives as long as its lease: whoever put
/// it renews it by putting it again, and what is not renewed is not listed any more. Entries of
/// dead processes on this host may vanish earlier. Thread-safe; a store object belongs to one
/// proxy, the data behind it to all.
class Store {
 public:
  virtual ~Store() = default;

  /// "file:/run/user/0/muster", "redis://127.0.0.1:6379": for messages to people.
  [[nodiscard]] virtual std::string description() const = 0;

  /// True when only processes of this host can meet here.
  [[nodiscard]] virtual bool host_only() const { return false; }

  /// The address of this host on the network where the members meet; empty when there is none.
  [[nodiscard]] virtual std::string local_address() const { return {}; }

  /// Registers or renews. A new instance under an old name replaces it (a process that came back);
  /// renewing where another instance has taken the name is `Errc::refused`.
  /// `Errc::store_unreachable` may pass: try again.
  virtual Result<void> put(const std::string& group, const Entry& entry, Duration lease) = 0;

  /// Takes the entry away if it is still this instance's. Absence is success.
  virtual Result<void> remove(const std::string& group, const Name& name, InstanceId instance) = 0;

  /// The live entries, sorted by name.
  [[nodiscard]] virtual Result<std::vector<Entry>> list(const std::string& group) = 0;

  /// Returns when something may have changed since the last `list`, at the deadline, or after
  /// `interrupt`.
  virtual Result<void> wait_for_change(const std::string& group, TimePoint deadline) = 0;

  /// Ends a `wait_for_change` that is under way, or else the next one.
  virtual void interrupt() = 0;

  /// Who uses it is about to leave: no call, not even one that is under way, waits for an answer
  /// after the deadline, until another is set. Nothing to do for stores that never wait long.
  virtual void hurry(TimePoint /*deadline*/) {}
};

}  // namespace muster::comm
