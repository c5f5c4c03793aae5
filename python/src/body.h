#pragma once

#include <nanobind/nanobind.h>

#include "muster/comm/message/body.h"

namespace muster::python {

namespace nb = nanobind;

/// What a Python value travels as: `bytes` and `memoryview` as bytes, `str` as text, `Json` as
/// JSON, a C contiguous `numpy.ndarray` of plain elements as array, everything else as a pickle
/// whose large buffers stay out of it. Nothing large is copied; what Python can still change is
/// lent.
[[nodiscard]] comm::Body encode_body(nb::handle value);

enum class Decode : bool {
  own,   ///< arrays are the program's own: on the received memory where nobody else sees it, else
         ///< copied
  view,  ///< arrays stand on the received memory and are read-only
};

/// The Python value of a received body.
[[nodiscard]] nb::object decode_body(const comm::Body& body, Decode how);

/// A writable array on memory that is handed over when the array is sent.
[[nodiscard]] nb::object draft_array(Buffer memory, nb::handle shape, nb::handle dtype);

void bind_body(nb::module_& module);

}  // namespace muster::python
