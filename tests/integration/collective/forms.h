#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "muster/comm/collective/call.h"
#include "muster/comm/collective/options.h"

namespace muster::comm {

/// What is special about the buffers or the reduction of a call.
enum class Trait : std::uint8_t {
  plain,
  in_place,  ///< input and output are the same memory
  variable,  ///< blocks differ, have up to as many items as told, and some have none
  ordered,   ///< combined by a function, in the order of ranks
};

/// In which way the data of a call moves.
struct Form {
  std::string name;
  std::size_t count = 0;         ///< items of 4 bytes in a block
  int warm_up = 0;               ///< so many calls until it moves in this way
  bool arena = false;            ///< inputs are in the group's arena
  std::string environment = {};  ///< NAME=VALUE, set before joining
  int hosts = 1;                 ///< that the ranks seem to lie on
  Trait trait = Trait::plain;
};

/// All that an operation has on a plane with so many ranks: in memory brief, staged, lent, in the
/// arena and long, by messages each algorithm of those that need no hosts; and the same with every
/// other trait, in memory some of them.
[[nodiscard]] std::vector<Form> forms_of(collective::Operation operation, Plane plane, int size);

/// Sizes in which each host has two ranks: one that is killed has a neighbour that sees it at once.
inline constexpr int kTwoHosts = 4;
inline constexpr int kThreeHosts = 6;
/// By messages on such hosts each algorithm that needs them, below and above the size from which
/// their leaders work in another way.
[[nodiscard]] std::vector<Form> forms_on_hosts(collective::Operation operation, int size);

/// Takes effect in this process, a rank that is to join with these options.
void take_effect(const Form& form, GroupOptions& options);

}  // namespace muster::comm
