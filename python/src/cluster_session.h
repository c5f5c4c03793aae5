#pragma once

#include <nanobind/nanobind.h>

namespace muster::python {

void bind_cluster_session(nanobind::module_& module);

}  // namespace muster::python
