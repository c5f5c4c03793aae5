#pragma once

#include <memory>

#include <nanobind/nanobind.h>

namespace muster::python {

namespace nb = nanobind;

/// Keeps a Python object alive for parts of the library that know nothing of Python. The last
/// share may be dropped by any thread, with or without the GIL. Made with the GIL held.
[[nodiscard]] std::shared_ptr<const void> hold(nb::handle object);

}  // namespace muster::python
