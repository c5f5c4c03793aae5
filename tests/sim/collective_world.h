#pragma once

#include <cstdint>
#include <string>

namespace muster::sim {

/// What one run of collectives showed. `violation` is empty when every call that said ok was right
/// and every call ended.
struct CollectiveOutcome {
  std::string violation;
  std::uint64_t trace = 0;  ///< equal for equal seeds
  int right = 0;            ///< calls of single ranks that ended well
  int failed = 0;           ///< and with an error
  bool crashed = false;
};

/// Bugs that the simulation plants to see that it finds them.
struct CollectiveFaults {
  bool forget_departures = false;  ///< nobody is told that a rank is lost
  bool ignore_slots = false;       ///< the newest message is taken for the one that is wanted
  bool tell_once = false;          ///< whoever is silent at that moment is not told of a loss
};

/// Runs schedules of random collectives, one after the other, on groups of nodes that have the
/// production router and links, in one thread and virtual time, on a network that loses, repeats,
/// delays and reorders frames; in half of the runs a node crashes in the middle. `loss` is the part
/// of the frames that are lost in bad weather: with much of it, nodes fall silent that live.
[[nodiscard]] CollectiveOutcome run_collectives(std::uint64_t seed, CollectiveFaults faults = {},
                                                double loss = 0.2);

}  // namespace muster::sim
