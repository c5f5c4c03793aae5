#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "muster/base/clock.h"
#include "muster/engine/schedule/ids.h"
#include "muster/service/protocol/orders.h"
#include "muster/service/protocol/reports.h"

namespace muster::service {

/// A worker as the service sees it.
struct WorkerEntry {
  /// known: by a former life of the scheduler, and has not registered here.
  /// joining: is being told its number.
  /// stale: orders to it were lost, or may have been; it registers again and says what it has.
  enum class State : std::uint8_t { known, joining, registered, stale, lost };

  engine::WorkerId id;
  std::string name;
  std::string host;
  std::string metrics;
  std::uint32_t pid = 0;
  std::uint64_t pid_start = 0;  ///< 0 where it is on another host
  State state = State::known;
  bool released = false;              ///< it may go without being a crash
  std::optional<TimePoint> vanished;  ///< since when it is not seen
  std::vector<Order> orders;          ///< to be sent
  std::uint64_t tasks = 0;            ///< finished there
  [[nodiscard]] bool is_lost() const { return state == State::lost; }
};

/// The workers by number and by name. Numbers are never used twice. Not thread-safe.
class WorkerTable {
 public:
  /// A new number for a worker; one that had the name before is to be declared lost by the caller.
  WorkerEntry& add(WorkerEntry entry);
  void reserve(engine::WorkerId next) { next_ = std::max(next_, next.value()); }
  [[nodiscard]] WorkerEntry* find(engine::WorkerId id);
  [[nodiscard]] const WorkerEntry* find(engine::WorkerId id) const;
  /// The one that has the name now; null if it is lost.
  [[nodiscard]] WorkerEntry* find(std::string_view name);
  [[nodiscard]] const WorkerEntry* find(std::string_view name) const;
  [[nodiscard]] engine::WorkerId next() const { return engine::WorkerId(next_); }
  /// Those that were lost too.
  [[nodiscard]] std::map<std::uint32_t, WorkerEntry>& all() { return workers_; }
  [[nodiscard]] const std::map<std::uint32_t, WorkerEntry>& all() const { return workers_; }

 private:
  std::map<std::uint32_t, WorkerEntry> workers_;
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
  std::uint32_t next_ = 0;
};

}  // namespace muster::service
