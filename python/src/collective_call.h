#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "array_view.h"
#include "muster/comm/collective/call.h"
#include "user_reduction.h"

namespace muster::python {

/// One rank's part of a collective as Python gave it: the call and what it stands on. Made and
/// destroyed with the GIL held.
struct CollectiveCall {
  comm::collective::Call call;
  ArrayView input;
  ArrayView output;
  std::shared_ptr<RaisedInReduction> user;  ///< null without a function of the user
};

/// What a call consists of. `input` is None where the rank has none or its items already lie in
/// `output`; `output` is None where the rank gets nothing.
struct CollectiveArguments {
  std::string operation;
  nb::object input;
  nb::object output;
  nb::object reduction;  ///< a name, a function, or None
  bool commutative = true;
  int root = 0;
  nb::object counts;
  nb::object receive_counts;
};

/// Checks everything that one rank can check. Throws TypeError or ValueError whose text begins with
/// the operation.
[[nodiscard]] CollectiveCall collective_call(const CollectiveArguments& arguments, int rank,
                                             int size);

}  // namespace muster::python
