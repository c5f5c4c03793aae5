#pragma once

#include <nanobind/nanobind.h>

#include "muster/comm/message/message.h"

namespace muster::python {

namespace nb = nanobind;

/// Between the library's session types and stages and the Enums of muster.communication.message.
[[nodiscard]] nb::object to_python(comm::SessionType type);
[[nodiscard]] nb::object to_python(comm::SessionType type, comm::SessionStage stage);

/// Both throw MessageSessionTypeError for anything that is not a member (or, as a courtesy, the
/// value of one).
[[nodiscard]] comm::SessionType session_type_of(nb::handle member);
[[nodiscard]] comm::SessionStage session_stage_of(comm::SessionType type, nb::handle member);

void bind_session_enums(nb::module_& module);

}  // namespace muster::python
