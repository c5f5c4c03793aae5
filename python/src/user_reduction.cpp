#include "user_reduction.h"

#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "array_view.h"
#include "interpreter.h"
#include "modules.h"

namespace muster::python {
namespace {

using comm::collective::Element;
using comm::collective::item_size;

/// Lets go of Python objects, wherever the last owner of the function is.
class Release final : public Chore {
 public:
  void run() override {
    function.reset();
    arrays.reset();
    dtype.reset();
    raised.reset();
  }
  nb::object function;
  nb::object arrays;
  nb::object dtype;
  std::optional<nb::python_error> raised;
  std::string text;  // of what was raised
};

/// "ZeroDivisionError: division by zero", for the ranks that do not see the exception itself.
std::string one_line(const nb::python_error& error) {
  const nb::object name = nb::getattr(error.type(), "__name__");
  try {
    return fmt::format("{}: {}", nb::str(name).c_str(), nb::str(error.value()).c_str());
  } catch (const nb::python_error&) {
    return nb::str(name).c_str();
  }
}

class PythonFunction final : public RaisedInReduction {
 public:
  PythonFunction(nb::handle function, Element element, nb::object arrays)
      : held_(std::make_unique<Release>()), element_(element) {
    held_->function = nb::borrow(function);
    held_->arrays = std::move(arrays);
    held_->dtype = dtype_of(element);
  }
  PythonFunction(const PythonFunction&) = delete;
  PythonFunction& operator=(const PythonFunction&) = delete;
  ~PythonFunction() override {
    if (PyGILState_Check() == 0)
      put_aside(std::move(held_));
    else
      held_->run();
  }

  void throw_if_raised() override {
    if (!held_->raised) return;
    nb::python_error raised = *std::move(held_->raised);
    held_->raised.reset();
    throw raised;
  }

  void combine(std::byte* into, const std::byte* from, std::size_t count) {
    if (Py_IsInitialized() == 0) return;  // the program ends, nobody sees the result
    const nb::gil_scoped_acquire gil;
    if (held_->raised) throw std::runtime_error(held_->text);
    try {
      const nb::object result = held_->function(copy_of(into, count), copy_of(from, count));
      put(result, into, count);
    } catch (nb::python_error& error) {
      held_->raised.emplace(std::move(error));
    } catch (const nb::builtin_exception& error) {
      const bool is_type = error.type() == nb::exception_type::type_error;
      PyErr_SetString(is_type ? PyExc_TypeError : PyExc_ValueError, error.what());
      held_->raised.emplace();
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
      held_->raised.emplace();
    }
    if (!held_->raised) return;
    held_->text = one_line(*held_->raised);
    throw std::runtime_error(held_->text);
  }

 private:
  /// The function may keep what it gets, so it gets a copy.
  [[nodiscard]] nb::object copy_of(const std::byte* items, std::size_t count) const {
    const nb::object memory = nb::steal(
        PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(items),
                                      static_cast<Py_ssize_t>(count * item_size(element_))));
    return Modules::get().ndarray(nb::make_tuple(count), held_->dtype, memory);
  }

  void put(nb::handle result, std::byte* into, std::size_t count) const {
    const nb::module_ numpy = nb::module_::import_("numpy");
    const nb::object returned = numpy.attr("asarray")(result);
    const nb::object dtype = returned.attr("dtype");
    if (!nb::cast<bool>(numpy.attr("can_cast")(dtype, held_->dtype, "same_kind")))
      throw nb::type_error(fmt::format("the reduction function returned {} for items of {}",
                                       nb::str(dtype).c_str(), nb::str(held_->dtype).c_str())
                               .c_str());
    const nb::object array = numpy.attr("ascontiguousarray")(returned, held_->dtype);
    const ArrayView view(array, "the result of the reduction function", ArrayView::Access::read);
    if (view.count() != count)
      throw nb::value_error(
          fmt::format("the reduction function returned {} items for {}", view.count(), count)
              .c_str());
    std::memcpy(into, view.data(), view.bytes());
  }

  std::unique_ptr<Release> held_;
  Element element_;
};

}  // namespace

comm::collective::Reduction python_reduction(nb::handle function, Element element, bool commutative,
                                             nb::object arrays,
                                             std::shared_ptr<RaisedInReduction>& raised) {
  auto held = std::make_shared<PythonFunction>(function, element, std::move(arrays));
  raised = held;
  return comm::collective::Reduction::of(
      [held](std::byte* into, const std::byte* from, std::size_t count) {
        held->combine(into, from, count);
      },
      commutative);
}

}  // namespace muster::python
