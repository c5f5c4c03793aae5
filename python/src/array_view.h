#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "muster/comm/collective/element.h"

namespace muster::python {

namespace nb = nanobind;

/// The items of a Python object, where they lie: anything with the buffer protocol or DLPack in the
/// memory of the processor. Keeps the object and its memory. Made and destroyed with the GIL held.
class ArrayView {
 public:
  enum class Access : bool { read, write };

  ArrayView() = default;
  /// Throws TypeError or ValueError that begins with `what`, such as "[allreduce] out", when the
  /// object holds no items, or not one after the other, or of a type that collectives do not know,
  /// or may not be written.
  ArrayView(nb::handle object, const std::string& what, Access access);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return count_ * item_size(element_); }
  [[nodiscard]] comm::collective::Element element() const { return element_; }
  /// Truth values: bytes to the library, but sums of them are not meant.
  [[nodiscard]] bool is_bool() const { return bool_; }
  [[nodiscard]] bool is_read_only() const { return read_only_; }
  [[nodiscard]] const std::vector<std::size_t>& shape() const { return shape_; }

 private:
  void take_buffer(nb::handle object, const std::string& what);
  bool take_brain_floats(nb::handle object, const std::string& what);
  void take_dlpack(nb::handle object, const std::string& what);

  std::shared_ptr<void> owner_;
  std::byte* data_ = nullptr;
  std::size_t count_ = 0;
  comm::collective::Element element_ = comm::collective::Element::u8;
  bool bool_ = false;
  bool read_only_ = false;
  std::vector<std::size_t> shape_;
};

/// The NumPy dtype of an element; bfloat16 where somebody (ml_dtypes) has registered it, else
/// uint16.
[[nodiscard]] nb::object dtype_of(comm::collective::Element element);

}  // namespace muster::python
