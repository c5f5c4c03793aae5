#pragma once

#include <nanobind/nanobind.h>

namespace muster::python {

void bind_group(nanobind::module_& module);

}  // namespace muster::python
