#pragma once

#include <cstddef>

#include <nanobind/nanobind.h>

#include "muster/base/buffer.h"

namespace muster::python {

namespace nb = nanobind;

/// A buffer of the library as Python sees it: an object with the buffer protocol, on which NumPy
/// arrays stand without a copy.
class Memory {
 public:
  enum class Access : unsigned char {
    read_only,
    writable,  ///< nobody else sees the bytes
    draft,  ///< to be filled and then sent: sending hands the bytes over and makes them read-only
  };

  Memory(Buffer buffer, Access access) : buffer_(std::move(buffer)), access_(access) {}

  [[nodiscard]] const Buffer& buffer() const { return buffer_; }
  [[nodiscard]] Access access() const { return access_; }
  void freeze() { access_ = Access::read_only; }

  int fill(PyObject* self, Py_buffer* view, int flags);

 private:
  Buffer buffer_;
  Access access_;
};

/// The bytes of an object with the buffer protocol, which is kept alive by them. What can still be
/// changed from Python is lent; what cannot is shared. Throws unless they are C contiguous.
[[nodiscard]] Buffer buffer_of(nb::handle object);

/// The UTF-8 text of a `str`, which is kept alive by it. Throws when it has no UTF-8 form.
[[nodiscard]] Buffer buffer_of_text(nb::handle text);

void bind_memory(nb::module_& module);

}  // namespace muster::python
