#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "muster/comm/collective/call.h"
#include "muster/comm/collective/options.h"

namespace muster::comm {

/// In which way the data of a call moves.
struct Form {
  std::string name;
  std::size_t count = 0;         ///< items of 4 bytes in a block
  int warm_up = 0;               ///< so many calls until it moves in this way
  bool arena = false;            ///< inputs are in the group's arena
  std::string environment = {};  ///< NAME=VALUE, set before joining
};

/// All that an operation has on a plane with so many ranks: in memory brief, staged, lent, in the
/// arena and long, by messages each algorithm.
[[nodiscard]] std::vector<Form> forms_of(collective::Operation operation, Plane plane, int size);

/// Takes effect in this process.
void set_environment(const Form& form);

}  // namespace muster::comm
