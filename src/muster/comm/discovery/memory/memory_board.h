#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/discovery/entry.h"

namespace muster::comm {

/// The data behind the memory stores of one process: the entries of every group and when their
/// leases end by `clock`. Nothing happens here by itself, so a simulation that owns the clock
/// replays exactly. Thread-safe.
class MemoryBoard {
 public:
  /// Which registration is the newer one under a name; 0 for one that is not there yet.
  using Rank = std::uint64_t;

  /// The clock must outlive the board. Ranks that it gives are above `last_rank`.
  explicit MemoryBoard(const Clock& clock, Rank last_rank = 0)
      : clock_(clock), last_rank_(last_rank) {}

  struct Listing {
    std::vector<Entry> entries;
    std::uint64_t version = 0;
  };

  /// Registers (rank 0) or renews with the rank that registering returned.
  Result<Rank> put(const std::string& group, const Entry& entry, Duration lease, Rank rank);
  void remove(const std::string& group, const Name& name, InstanceId instance);
  [[nodiscard]] Listing list(const std::string& group);

  struct Glance {
    std::uint64_t version = 0;
    TimePoint next_end = TimePoint::max();  ///< when the first of the leases ends
  };
  [[nodiscard]] Glance glance(const std::string& group);

  struct Size {
    std::size_t groups = 0;   ///< with those that are empty now
    std::size_t entries = 0;  ///< of all groups
  };
  /// How large the board would be with this entry.
  [[nodiscard]] Size size_with(const std::string& group, const Name& name);

  /// Returns when the group's version is not `seen`, at the deadline, or when `interrupted` is set,
  /// which it clears.
  void wait(const std::string& group, std::optional<std::uint64_t> seen, TimePoint deadline,
            bool& interrupted);
  /// Sets the flag that a `wait` may be looking at.
  void interrupt(bool& interrupted);

  /// For whoever moves a simulated clock: waits look at the time again.
  void time_moved();

 private:
  struct Registration {
    Entry entry;
    Rank rank = 0;
    TimePoint until;
  };
  struct Group {
    std::map<Name, Registration> registrations;
    std::uint64_t version = 0;
  };

  // `mutex_` must be held for these.
  void touch(Group& group);
  void drop_expired(Group& group);
  [[nodiscard]] TimePoint next_look(const Group& group, TimePoint deadline) const;

  const Clock& clock_;  // outlives the board, see the constructor
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Group> groups_;  // a group once used stays: its version must not begin anew
  Rank last_rank_;
};

}  // namespace muster::comm
