#pragma once

#include <nanobind/nanobind.h>

#include "muster/base/result.h"

namespace muster::python {

namespace nb = nanobind;

/// Throws the Python exception for an expected failure: the class registered for its code.
[[noreturn]] void raise(const Error& error);

/// The value, or the exception for its absence.
template <class T>
T value_or_raise(Result<T>&& result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void bind_errors(nb::module_& module);

}  // namespace muster::python
