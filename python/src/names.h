#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "muster/base/name.h"

namespace muster::python {

namespace nb = nanobind;

[[nodiscard]] inline nb::str to_str(std::string_view text) {
  return nb::str(text.data(), text.size());
}

/// The characters of a `str`, valid while it lives. Throws for other types.
[[nodiscard]] inline std::string_view text_of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

/// The value of an argument that must be a `str`. Throws `TypeError` that names it.
[[nodiscard]] inline std::string_view text_argument(const char* name, nb::handle value) {
  if (PyUnicode_Check(value.ptr())) return text_of(value);
  throw nb::type_error((std::string(name) + " is a str, not " + nb::repr(value).c_str()).c_str());
}

[[nodiscard]] inline Name name_argument(const char* name, nb::handle value) {
  return Name(text_argument(name, value));
}

}  // namespace muster::python

/// `Name` is `str` in Python.
template <>
struct nanobind::detail::type_caster<muster::Name> {
  NB_TYPE_CASTER(muster::Name, const_name("str"))

  bool from_python(handle source, std::uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    if (!PyUnicode_Check(source.ptr())) return false;
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(source.ptr(), &size);
    if (data == nullptr) {
      PyErr_Clear();
      return false;
    }
    value = std::string_view(data, static_cast<std::size_t>(size));
    return true;
  }

  static handle from_cpp(const muster::Name& name, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    return PyUnicode_FromStringAndSize(name.view().data(), static_cast<Py_ssize_t>(name.size()));
  }
};
