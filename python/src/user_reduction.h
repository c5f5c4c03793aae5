#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "muster/comm/collective/reduction.h"

namespace muster::python {

namespace nb = nanobind;

/// What a Python function that combines arrays left behind: the exception it raised, if it did.
class RaisedInReduction {
 public:
  virtual ~RaisedInReduction() = default;
  /// Throws it. With the GIL held, after the call is over.
  virtual void throw_if_raised() = 0;
};

/// A reduction by `function(a, b)`, which gets two one-dimensional NumPy arrays of the same length
/// and returns their combination. It is called with the GIL, by whatever thread carries the
/// collective out. `raised` outlives the call. The reduction keeps `arrays`, on which the call
/// works: the function may let go of the call's handle.
[[nodiscard]] comm::collective::Reduction python_reduction(
    nb::handle function, comm::collective::Element element, bool commutative, nb::object arrays,
    std::shared_ptr<RaisedInReduction>& raised);

}  // namespace muster::python
