#include "errors.h"

#include "interpreter.h"
#include "muster/comm/errc.h"

namespace muster::python {
namespace {

// {code: exception class}, filled by muster.communication.exceptions. Lives as long as the
// interpreter.
PyObject* classes_by_code = nullptr;

nb::handle class_for(const std::error_code& code) {
  if (classes_by_code == nullptr) return PyExc_RuntimeError;
  const bool ours = code.category() == comm::make_error_code(comm::Errc::internal).category();
  const int number = ours ? code.value() : static_cast<int>(comm::Errc::internal);
  PyObject* const found = PyDict_GetItem(classes_by_code, nb::int_(number).ptr());
  return found != nullptr ? found : PyExc_RuntimeError;
}

}  // namespace

void raise(const Error& error) {
  throw_if_raised();
  const std::string& text = error.message();
  const nb::object message =
      nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  PyErr_SetObject(class_for(error.code()).ptr(), message.ptr());
  throw nb::python_error();
}

void bind_errors(nb::module_& module) {
  module.def(
      "register_exceptions",
      [](nb::dict by_code) { Py_XSETREF(classes_by_code, by_code.release().ptr()); },
      nb::arg("by_code"),
      nb::sig("def register_exceptions(by_code: dict[int, type[BaseException]]) -> None"),
      "Sets the exception class for each error code.");
}

}  // namespace muster::python
