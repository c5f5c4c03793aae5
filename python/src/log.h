#pragma once

#include <nanobind/nanobind.h>

namespace muster::python {

void bind_log(nanobind::module_& module);

}  // namespace muster::python
