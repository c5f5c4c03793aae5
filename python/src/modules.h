#pragma once

#include <nanobind/nanobind.h>

namespace muster::python {

namespace nb = nanobind;

/// Functions and types of Python's modules that every message may need, looked up once. Lives as
/// long as the interpreter.
struct Modules {
  nb::handle pickle_dumps, pickle_loads;
  nb::handle json_dumps, json_loads;
  nb::handle ndarray, dtype;
  nb::handle enum_class;

  /// With the GIL held.
  [[nodiscard]] static const Modules& get();
};

}  // namespace muster::python
