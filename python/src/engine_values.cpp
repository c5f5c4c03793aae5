#include "engine_values.h"

#include <string>

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "held_object.h"
#include "modules.h"
#include "muster/engine/errors.h"
#include "muster/engine/graph/python_function.h"
#include "muster/engine/kernels/kernel.h"

namespace muster::python {

using engine::Array;
using engine::Attribute;
using engine::DType;

namespace {

/// What NumPy reads to make an array of foreign memory.
struct ArrayHolder {
  Array array;
  bool writable;
};

class ChunkFunction final : public engine::PythonFunction {
 public:
  explicit ChunkFunction(nb::handle function)
      : function_(function),
        held_(hold(function)),
        name_(nb::cast<std::string>(nb::getattr(function, "__name__", nb::str("function")))) {}

  [[nodiscard]] std::string name() const override { return name_; }

  [[nodiscard]] Buffer pickled() const override {
    const nb::gil_scoped_acquire gil;
    try {
      const auto bytes = nb::cast<nb::bytes>(
          nb::module_::import_("cloudpickle").attr("dumps")(function_, nb::arg("protocol") = 5));
      return Buffer::copy_of(as_bytes(std::string_view(bytes.c_str(), bytes.size())));
    } catch (const nb::python_error& error) {
      const nb::object value = nb::borrow(error.value());
      engine::wrong_type(fmt::format("the function '{}' cannot be sent to a cluster: {}: {}", name_,
                                     Py_TYPE(value.ptr())->tp_name,
                                     nb::cast<std::string>(nb::str(value))));
    }
  }

  void call(engine::KernelContext& context) const override {
    const nb::gil_scoped_acquire gil;
    nb::list inputs;
    for (const Array& input : context.inputs()) inputs.append(numpy_from(input, Access::read_only));
    const nb::object result = called(inputs, context.attributes());
    const std::size_t outputs = context.outputs().size();
    if (outputs == 1 && !nb::isinstance<nb::list>(result) && !nb::isinstance<nb::tuple>(result)) {
      context.set(array_from(result));
      return;
    }
    if (nb::len(result) != outputs)
      engine::wrong_value(
          fmt::format("'{}' gave {} results instead of {}", name_, nb::len(result), outputs));
    for (std::size_t output = 0; output < outputs; ++output)
      context.set(output, array_from(result[output]));
  }

 private:
  [[nodiscard]] nb::object called(const nb::list& inputs,
                                  const engine::Attributes& attributes) const {
    if (!attributes.has("chunk_index")) return function_(inputs);
    return function_(inputs, nb::tuple(nb::cast(attributes.get<engine::Ints>("chunk_index"))));
  }

  nb::handle function_;
  std::shared_ptr<const void> held_;
  std::string name_;
};

bool all_whole(nb::handle list) {
  for (const nb::handle item : list)
    if (!PyLong_Check(item.ptr()) || PyBool_Check(item.ptr())) return false;
  return true;
}

}  // namespace

nb::object numpy_dtype(DType dtype) { return Modules::get().dtype(name(dtype)); }

DType dtype_from(nb::handle numpy_dtype) {
  const nb::object dtype = Modules::get().dtype(numpy_dtype);
  const auto text = nb::cast<std::string>(dtype.attr("name"));
  const auto found = engine::dtype_named(text);
  if (!found || !nb::cast<bool>(dtype.attr("isnative")))
    throw nb::type_error(
        fmt::format("tensors have no items of dtype '{}'", nb::cast<std::string>(dtype.attr("str")))
            .c_str());
  return *found;
}

Array array_from(nb::handle numpy_array) {
  const DType dtype = dtype_from(numpy_array.attr("dtype"));
  const nb::object interface = numpy_array.attr("__array_interface__");
  const auto data = nb::cast<std::uintptr_t>(interface["data"][0]);
  return Array::share(dtype, nb::cast<engine::Shape>(numpy_array.attr("shape")),
                      nb::cast<engine::Strides>(numpy_array.attr("strides")),
                      reinterpret_cast<const std::byte*>(data), hold(numpy_array));
}

nb::object numpy_from(const Array& array, Access access) {
  nb::object holder = nb::cast(ArrayHolder{array, access == Access::writable});
  return nb::module_::import_("numpy").attr("asarray")(holder);
}

std::shared_ptr<const engine::PythonFunction> chunk_function(nb::handle function) {
  return std::make_shared<ChunkFunction>(function);
}

Attribute::Value attribute_from(nb::handle value, const char* name) {
  const Modules& modules = Modules::get();
  if (value.is_none()) return std::monostate();
  if (PyBool_Check(value.ptr())) return nb::cast<bool>(value);
  if (PyLong_Check(value.ptr())) return nb::cast<std::int64_t>(value);
  if (PyFloat_CheckExact(value.ptr())) return nb::cast<double>(value);
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (nb::isinstance(value, modules.dtype)) return dtype_from(value);
  if (nb::isinstance(value, modules.ndarray)) return array_from(value);
  if (nb::hasattr(value, "dtype") && nb::hasattr(value, "tobytes")) {  // a NumPy scalar
    const DType dtype = dtype_from(value.attr("dtype"));
    const auto bytes = nb::cast<nb::bytes>(value.attr("tobytes")());
    return engine::Scalar(dtype, bytes.c_str());
  }
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    if (all_whole(value)) return nb::cast<engine::Ints>(value);
    engine::List list;
    for (const nb::handle item : value) list.push_back({attribute_from(item, name)});
    return list;
  }
  if (PyCallable_Check(value.ptr()) != 0) return chunk_function(value);
  throw nb::type_error(fmt::format("the parameter '{}' is a {}, which no operator takes", name,
                                   Py_TYPE(value.ptr())->tp_name)
                           .c_str());
}

void bind_array_holder(nb::module_& module) {
  nb::class_<ArrayHolder>(module, "ArrayHolder", "Memory of the engine, as NumPy reads it.")
      .def_prop_ro(
          "__array_interface__",
          [](const ArrayHolder& holder) {
            nb::dict interface;
            const Array& array = holder.array;
            const auto tuple = [](const std::vector<std::int64_t>& values) {
              nb::list list;
              for (const auto value : values) list.append(value);
              return nb::tuple(list);
            };
            interface["shape"] = tuple(array.shape());
            interface["strides"] = tuple(array.strides());
            interface["typestr"] = numpy_dtype(array.dtype()).attr("str");
            interface["data"] =
                nb::make_tuple(reinterpret_cast<std::uintptr_t>(array.data()), !holder.writable);
            interface["version"] = 3;
            return interface;
          },
          nb::sig("def __array_interface__(self) -> dict[str, object]"));
}

}  // namespace muster::python
