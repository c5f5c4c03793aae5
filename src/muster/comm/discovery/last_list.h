#pragma once

#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/discovery/entry.h"

namespace muster::comm {

/// What a store's client saw of a group last. After a restart a server lists nobody until they
/// renew. Whoever lives does so within a lease; to take them for lost meanwhile would break off
/// what they are doing. So what the server forgot stays in the list for that long. Not thread-safe.
class LastList {
 public:
  /// `entries` are the server's; adds what it has only forgotten, and sorts by name. Another
  /// `begun` than before means that the server lost everything.
  void note(std::string version, std::string begun, std::vector<Entry>& entries, Duration lease,
            TimePoint now);

  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] const std::string& begun() const { return begun_; }

 private:
  std::string version_;
  std::string begun_;
  std::vector<Entry> entries_;
  std::vector<Entry> remembered_;  // what the server forgot, …
  TimePoint remembered_until_;     // … until its owners have had the time to renew it
};

}  // namespace muster::comm
