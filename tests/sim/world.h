#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muster/base/random.h"
#include "muster/comm/discovery/memory/memory_board.h"
#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/comm/link/link_driver.h"
#include "muster/comm/proxy/router.h"
#include "tests/support/frame_network.h"

namespace muster::sim {

/// What may go wrong in one run, and the bugs that are planted.
struct Plan {
  std::uint64_t seed = 1;
  int nodes = 4;
  int actions = 300;
  comm::LinkFaults link_faults = {};
  comm::RouterFaults router_faults = {};
};

/// What a run showed. `violation` is empty when every invariant held.
struct Outcome {
  std::string violation;
  std::uint64_t trace = 0;  ///< a hash of everything that happened; equal for equal plans
  std::size_t delivered = 0;
  std::size_t crashes = 0;
  std::size_t rejoins = 0;
  std::size_t lost_replies = 0;
};

/// Runs a group of proxies (the production router, sessions, links and memory store) in one thread
/// and virtual time, on a network that loses, repeats, delays and reorders frames, while nodes
/// crash, pause, are cut off and come back. Then everything is mended, and it is checked that
/// - no message is delivered twice to one life of a node, and all arrive in the order of sending;
/// - whatever one life sent to another arrived, if both lived on;
/// - every call that waited for replies has ended.
[[nodiscard]] Outcome run(const Plan& plan);

}  // namespace muster::sim
