#pragma once

#include <nanobind/nanobind.h>

namespace muster::python {

void bind_proxy(nanobind::module_& module);

}  // namespace muster::python
