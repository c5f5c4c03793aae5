#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/discovery/store.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/proxy/options.h"

namespace muster::comm {

/// Which algorithms a group uses.
enum class Plane : std::uint8_t {
  automatic,  ///< shared memory when all ranks are on one host, else messages
  shared,     ///< shared memory, or joining fails
  network,    ///< messages, also on one host
};

struct GroupOptions {
  /// The ranks meet under this name.
  std::string name;
  int size = 0;
  /// Nothing: ranks that were not asked for are given out in the order of `member`.
  std::optional<int> rank;
  /// This process's name in the group; made up when empty.
  std::string member;
  /// Where the ranks find each other, as in ProxyOptions.
  std::string discovery;
  std::shared_ptr<Store> store;  ///< instead of `discovery`
  std::string driver = "auto";
  std::map<std::string, std::string> driver_options;
  Security security;
  Duration join_timeout = std::chrono::seconds(100);
  /// How long a rank may be silent (paused, cut off) before it counts as lost; at least 50 ms.
  Duration lease = std::chrono::seconds(3);
  Plane plane = Plane::automatic;
  /// Whether a minority may leave behind ranks that are merely silent, not known to be dead:
  /// without it, `shrink` needs more than half of those that may live, so that two halves of a cut
  /// network do not both go on.
  bool minority_may_shrink = false;
  /// Asked about ten times a second by calls that wait: true ends the call with
  /// `Errc::interrupted`, and so does an exception. It may close groups and cancel calls. It may
  /// also make other calls, but none with the tag of the one that asks: std::logic_error.
  std::function<bool()> interrupted;
  /// For tests: called when a call begins and whenever this rank is about to tell others something,
  /// at every step of calls and of making groups; by whichever thread does it.
  std::function<void()> at_step;
};

/// How one call is made.
struct CallOptions {
  /// 0 to 255. Calls match by tag, and among those with the same tag by the order in which each
  /// rank started them.
  int tag = 0;
  /// From the start of the call; below 0 it has passed. When it passes, the call is given up, which
  /// ends the group for all ranks (see Group), also when nobody waits for it. A receive is given up
  /// without harm.
  Timeout timeout = {};
};

struct FromProxyOptions {
  /// Several groups among the same peers have different names.
  std::string name = "collective";
  /// Peers of these types are ranks, and so is the proxy itself; all types when empty.
  std::vector<std::string> types;
  /// How many ranks there will be. When 0, those that come until each has the peers that its proxy
  /// waits for: a learner that waits for two actors, and actors that wait for a learner, are three.
  /// Needed where more than that come, or a proxy waits for none.
  int size = 0;
  std::optional<int> rank;
  Duration join_timeout = std::chrono::seconds(100);
  Plane plane = Plane::automatic;
};

}  // namespace muster::comm
