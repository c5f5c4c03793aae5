#include "memory.h"

#include <memory>

#include "interpreter.h"
#include "names.h"

namespace muster::python {
namespace {

// Below this, copying costs less than keeping a Python object alive.
constexpr std::size_t kCopyBytes = 4096;

/// Keeps a Python object and its exported bytes, until the last buffer on them is gone, wherever
/// that happens.
class Hold final : public Chore {
 public:
  explicit Hold(nb::handle object) : object_(object.inc_ref().ptr()) {}
  void run() override {
    if (view.obj != nullptr) PyBuffer_Release(&view);
    Py_DECREF(object_);
  }

  Py_buffer view{};

 private:
  PyObject* object_;
};

std::shared_ptr<const void> owner_from(std::unique_ptr<Hold> hold) {
  return {hold.release(), [](Hold* released) {
            std::unique_ptr<Hold> ended(released);
            if (PyGILState_Check() == 0) return put_aside(std::move(ended));
            ended->run();
          }};
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return nb::inst_ptr<Memory>(self)->fill(self, view, flags);
}

PyType_Slot memory_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {0, nullptr},
};

}  // namespace

int Memory::fill(PyObject* self, Py_buffer* view, int flags) {
  auto* const data = const_cast<std::byte*>(buffer_.data());
  const int read_only = access_ == Access::read_only ? 1 : 0;
  return PyBuffer_FillInfo(view, self, data, static_cast<Py_ssize_t>(buffer_.size()), read_only,
                           flags);
}

Buffer buffer_of(nb::handle object) {
  auto hold = std::make_unique<Hold>(object);
  Py_buffer& view = hold->view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_CONTIG_RO) != 0) {
    hold->run();
    throw nb::python_error();
  }
  const ByteSpan bytes(static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len));
  if (bytes.size() <= kCopyBytes) {
    Buffer copy = Buffer::copy_of(bytes);
    hold->run();
    return copy;
  }
  const bool constant = view.readonly != 0;
  auto owner = owner_from(std::move(hold));
  return constant ? Buffer::share(bytes, std::move(owner)) : Buffer::lend(bytes, std::move(owner));
}

Buffer buffer_of_text(nb::handle text) {
  const ByteSpan bytes = as_bytes(text_of(text));
  if (bytes.size() <= kCopyBytes) return Buffer::copy_of(bytes);
  return Buffer::share(bytes, owner_from(std::make_unique<Hold>(text)));
}

void bind_memory(nb::module_& module) {
  nb::class_<Memory>(module, "Memory", nb::type_slots(memory_slots),
                     "Bytes that the library owns, under a NumPy array.")
      .def("__len__", [](const Memory& self) { return self.buffer().size(); });
}

}  // namespace muster::python
