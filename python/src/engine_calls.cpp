#include "engine_calls.h"

#include <chrono>
#include <exception>
#include <string>

#include <nanobind/stl/string.h>

#include "interpreter.h"

namespace muster::python {

namespace {

using engine::ArrayError;
using engine::Wrong;

nb::handle class_of(Wrong wrong) {
  switch (wrong) {
    case Wrong::value: return PyExc_ValueError;
    case Wrong::type: return PyExc_TypeError;
    case Wrong::index: return PyExc_IndexError;
    case Wrong::zero_division: return PyExc_ZeroDivisionError;
    case Wrong::memory: return PyExc_MemoryError;
    case Wrong::overflow: return PyExc_OverflowError;
    case Wrong::timeout: return PyExc_TimeoutError;
    case Wrong::linalg:
    case Wrong::cancelled:
    case Wrong::other: break;
  }
  return PyExc_RuntimeError;
}

}  // namespace

void raise(const ArrayError& error) {
  throw_if_raised();
  if (const auto* compute = dynamic_cast<const engine::ComputeError*>(&error)) {
    try {
      std::rethrow_exception(compute->cause());
    } catch (nb::python_error& raised) {
      const std::string text = error.what();
      if (nb::hasattr(raised.value(), "add_note"))
        raised.value().attr("add_note")(text.substr(text.rfind("\n  ") + 3));
      throw;
    } catch (...) {  // an error of the engine: its own message says all
    }
  }
  nb::object type = nb::borrow(class_of(error.wrong()));
  if (error.wrong() == Wrong::linalg)
    type = nb::module_::import_("numpy.linalg").attr("LinAlgError");
  PyErr_SetString(type.ptr(), error.what());
  throw nb::python_error();
}

engine::Options options_from(const nb::dict& from) {
  engine::Options options;
  for (const auto& [key, value] : from) {
    const auto name = nb::cast<std::string>(key);
    if (name == "chunk_store_limit")
      options.chunk_store_limit = nb::cast<std::size_t>(value);
    else if (name == "combine_size")
      options.combine_size = nb::cast<int>(value);
    else if (name == "rechunk_threshold")
      options.rechunk_threshold = nb::cast<int>(value);
    else if (name == "rechunk_chunk_size_limit")
      options.rechunk_chunk_size_limit = nb::cast<std::size_t>(value);
    else if (name == "disabled_passes")
      for (const nb::handle pass : value)
        options.disabled_passes.insert(nb::cast<std::string>(pass));
  }
  return options;
}

void look_around() {
  if (interrupted()) throw ArrayError(Wrong::cancelled, "the execution was interrupted");
  const nb::gil_scoped_acquire gil;
  do_chores();
}

void watch(engine::RunControl& control, std::optional<double> timeout) {
  using Clock = engine::RunControl::Clock;
  if (timeout)
    control.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(*timeout));
  control.on_wait = look_around;
}

}  // namespace muster::python
