#pragma once

#include <nanobind/nanobind.h>

#include "muster/engine/graph/attributes.h"

namespace muster::python {

namespace nb = nanobind;

/// NumPy's dtype for ours, and back; throws TypeError for one that the engine does not know.
[[nodiscard]] nb::object numpy_dtype(engine::DType dtype);
[[nodiscard]] engine::DType dtype_from(nb::handle numpy_dtype);

/// The items of a NumPy array where they lie; it is kept alive.
[[nodiscard]] engine::Array array_from(nb::handle numpy_array);

enum class Access : bool { read_only, writable };
/// A NumPy array over the items of ours, which it keeps alive.
[[nodiscard]] nb::object numpy_from(const engine::Array& array, Access access);

/// A parameter as Python writes it: None, numbers, text, dtypes, NumPy scalars and arrays,
/// functions of chunks, and lists of these. `name` is for the message of the TypeError.
[[nodiscard]] engine::Attribute::Value attribute_from(nb::handle value, const char* name);

/// Called by kernels with lists of NumPy arrays, one for each input, and the place of the chunk in
/// the grid where the operator wants that; gives one array for each output (a list or tuple if
/// there are several).
[[nodiscard]] std::shared_ptr<const engine::PythonFunction> chunk_function(nb::handle function);

}  // namespace muster::python
