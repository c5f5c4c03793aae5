#pragma once

#include <optional>
#include <vector>

#include <nanobind/nanobind.h>

#include "muster/engine/errors.h"
#include "muster/engine/execute/run_control.h"
#include "muster/engine/graph/tensor.h"
#include "muster/engine/session/options.h"

namespace muster::python {

namespace nb = nanobind;

/// Raises the Python exception of the same kind. What a user's function raised is raised again,
/// with a note that says where.
[[noreturn]] void raise(const engine::ArrayError& error);

template <class Call>
auto translating(Call&& call) {
  try {
    return call();
  } catch (const engine::ArrayError& error) {
    raise(error);
  }
}

[[nodiscard]] engine::Options options_from(const nb::dict& from);

/// To be called now and then by a thread that waits without the GIL; throws ArrayError (cancelled)
/// when the user pressed Ctrl-C.
void look_around();

/// A control with a deadline, during which Ctrl-C and Python's chores are looked after.
void watch(engine::RunControl& control, std::optional<double> timeout);

/// Executes in a session of any kind.
template <class Session>
void execute_in(Session& session, const std::vector<engine::Tensor>& tensors,
                const nb::dict& options, engine::RunControl* control,
                std::optional<double> timeout) {
  engine::RunControl own;
  engine::RunControl& watched = control == nullptr ? own : *control;
  watch(watched, timeout);
  const engine::Options chosen = options_from(options);
  translating([&] {
    const nb::gil_scoped_release released;
    session.execute(tensors, chosen, &watched);
  });
}

}  // namespace muster::python
