#include "array_view.h"

#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "modules.h"

namespace muster::python {
namespace {

using comm::collective::Element;

[[noreturn]] void type_error(const std::string& text) { throw nb::type_error(text.c_str()); }
[[noreturn]] void value_error(const std::string& text) { throw nb::value_error(text.c_str()); }

std::string name_of_type(nb::handle object) { return nb::type_name(object.type()).c_str(); }

std::optional<Element> integer(std::size_t size, bool is_signed) {
  switch (size) {
    case 1: return is_signed ? Element::i8 : Element::u8;
    case 2: return is_signed ? Element::i16 : Element::u16;
    case 4: return is_signed ? Element::i32 : Element::u32;
    case 8: return is_signed ? Element::i64 : Element::u64;
    default: return std::nullopt;
  }
}

/// From the format of the struct module and PEP 3118, in the byte order of this machine.
std::optional<Element> element_of_format(std::string_view format, std::size_t size) {
  if (!format.empty() && std::string_view("<=@|").find(format[0]) != std::string_view::npos)
    format.remove_prefix(1);
  if (format == "Zf") return Element::c64;
  if (format == "Zd") return Element::c128;
  if (format.size() != 1) return std::nullopt;
  switch (format[0]) {
    case '?':
    case 'c': return Element::u8;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n': return integer(size, true);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N': return integer(size, false);
    case 'e': return Element::f16;
    case 'f': return Element::f32;
    case 'd': return Element::f64;
    default: return std::nullopt;
  }
}

std::optional<Element> element_of_dlpack(nb::dlpack::dtype dtype) {
  const auto code = static_cast<nb::dlpack::dtype_code>(dtype.code);
  const std::size_t size = dtype.bits / 8;
  if (dtype.lanes != 1) return std::nullopt;
  switch (code) {
    case nb::dlpack::dtype_code::Bool: return Element::u8;
    case nb::dlpack::dtype_code::Int: return integer(size, true);
    case nb::dlpack::dtype_code::UInt: return integer(size, false);
    case nb::dlpack::dtype_code::Bfloat: return Element::bf16;
    case nb::dlpack::dtype_code::Float:
      return size == 2   ? std::optional(Element::f16)
             : size == 4 ? std::optional(Element::f32)
             : size == 8 ? std::optional(Element::f64)
                         : std::nullopt;
    case nb::dlpack::dtype_code::Complex:
      return size == 8    ? std::optional(Element::c64)
             : size == 16 ? std::optional(Element::c128)
                          : std::nullopt;
    default: return std::nullopt;
  }
}

constexpr const char* kKnown =
    "; collectives take integers of 8 to 64 bits, bfloat16, float16, float32, float64, complex64 "
    "and complex128";

std::string dtype_text(nb::handle object) {
  if (nb::hasattr(object, "typecode"))  // array.array
    return fmt::format("'{}'", nb::str(object.attr("typecode")).c_str());
  if (!nb::hasattr(object, "dtype")) return name_of_type(object);
  const nb::object dtype = object.attr("dtype");
  return nb::str(dtype).c_str();
}

/// Tensors of PyTorch may be views of which only PyTorch knows that their memory holds something
/// else: the conjugate, or the negative.
bool is_read_through_a_function(nb::handle object) {
  for (const char* question : {"is_conj", "is_neg"})
    if (nb::hasattr(object, question) && nb::cast<bool>(object.attr(question)())) return true;
  return false;
}

/// What the producer says.
std::string why_no_dlpack(nb::handle object) {
  try {
    static_cast<void>(object.attr("__dlpack__")());
  } catch (const nb::python_error& error) {
    return fmt::format(": {}", nb::str(error.value()).c_str());
  }
  return "";
}

}  // namespace

ArrayView::ArrayView(nb::handle object, const std::string& what, Access access) {
  if (object.is_none()) type_error(what + " is missing");
  if (!take_brain_floats(object, what)) {
    if (PyObject_CheckBuffer(object.ptr()) != 0)
      take_buffer(object, what);
    else
      take_dlpack(object, what);
  }
  if (access == Access::write && read_only_)
    value_error(what + " is read-only, and the result has to go there");
}

void ArrayView::take_buffer(nb::handle object, const std::string& what) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    type_error(fmt::format("{} has dtype {}{}", what, dtype_text(object), kKnown));
  }
  const Py_buffer& got = *view;
  owner_ = std::shared_ptr<Py_buffer>(view.release(), [](Py_buffer* released) {
    PyBuffer_Release(released);
    delete released;  // NOLINT: the deleter of the pointer above
  });
  const char* const format = got.format == nullptr ? "B" : got.format;
  const auto element = element_of_format(format, static_cast<std::size_t>(got.itemsize));
  if (!element) type_error(fmt::format("{} has dtype {}{}", what, dtype_text(object), kKnown));
  if (PyBuffer_IsContiguous(&got, 'C') == 0)
    value_error(
        fmt::format("{} does not lie in one piece in C order; pass a contiguous copy "
                    "(numpy.ascontiguousarray)",
                    what));
  element_ = *element;
  bool_ = std::string_view(format) == "?";
  data_ = static_cast<std::byte*>(got.buf);
  count_ = static_cast<std::size_t>(got.len / got.itemsize);
  read_only_ = got.readonly != 0;
  for (int i = 0; i < got.ndim; ++i) shape_.push_back(static_cast<std::size_t>(got.shape[i]));
}

/// NumPy arrays of ml_dtypes.bfloat16 and the like, which have no buffer format of their own.
bool ArrayView::take_brain_floats(nb::handle object, const std::string& what) {
  if (!object.type().is(Modules::get().ndarray)) return false;
  const nb::object dtype = object.attr("dtype");
  if (nb::cast<int>(dtype.attr("num")) < 256) return false;  // one of NumPy's own
  if (nb::cast<std::string>(dtype.attr("name")) != "bfloat16") return false;
  take_buffer(object.attr("view")("uint16"), what);
  element_ = Element::bf16;
  return true;
}

void ArrayView::take_dlpack(nb::handle object, const std::string& what) {
  if (!nb::hasattr(object, "__dlpack__"))
    type_error(
        fmt::format("{} is {}, which has neither the buffer protocol nor DLPack; pass a "
                    "NumPy array",
                    what, name_of_type(object)));
  if (is_read_through_a_function(object))
    value_error(what +
                " is a view that is conjugated or negated when it is read; pass what its "
                "resolve_conj() or resolve_neg() returns");
  nb::ndarray<> array;
  if (!nb::try_cast(object, array, false)) {
    nb::ndarray<nb::ro> constant;
    if (!nb::try_cast(object, constant, false))
      type_error(fmt::format("{} ({}) does not give its memory through DLPack{}", what,
                             name_of_type(object), why_no_dlpack(object)));
    read_only_ = true;
    array = nb::ndarray<>(constant.handle());
  }
  if (array.device_type() != nb::device::cpu::value)
    value_error(what + " lies on an accelerator; move it to the memory of the processor first");
  const auto element = element_of_dlpack(array.dtype());
  if (!element) type_error(fmt::format("{} has dtype {}{}", what, dtype_text(object), kKnown));
  std::int64_t step = 1;
  for (std::size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) > 1 && array.stride(i) != step && array.size() > 0)
      value_error(what + " does not lie in one piece in C order; pass a contiguous copy");
    step *= static_cast<std::int64_t>(array.shape(i));
  }
  for (std::size_t i = 0; i < array.ndim(); ++i) shape_.push_back(array.shape(i));
  element_ = *element;
  bool_ = array.dtype().code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bool);
  data_ = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(array.data())));
  count_ = array.size();
  owner_ = std::make_shared<nb::ndarray<>>(std::move(array));
}

nb::object dtype_of(Element element) {
  if (element != Element::bf16) return Modules::get().dtype(std::string(name(element)).c_str());
  try {
    return Modules::get().dtype(nb::module_::import_("ml_dtypes").attr("bfloat16"));
  } catch (const nb::python_error&) {
    return Modules::get().dtype("uint16");
  }
}

}  // namespace muster::python
