#pragma once

#include <nanobind/nanobind.h>

namespace muster::python {

void bind_tensor(nanobind::module_& module);

}  // namespace muster::python
