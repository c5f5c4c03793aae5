#pragma once

#include <nanobind/nanobind.h>

#include "muster/comm/proxy/proxy.h"

namespace muster::python {

/// The proxy under a NativeProxy; throws TypeError for anything else.
[[nodiscard]] comm::Proxy& native_proxy(nanobind::handle object);

void bind_proxy(nanobind::module_& module);

}  // namespace muster::python
