#include "body.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "memory.h"
#include "modules.h"
#include "muster/comm/message/record.h"
#include "names.h"

namespace muster::python {
namespace {

// Smaller buffers stay inside the pickle, and smaller arrays are always copied out of the received
// memory: that costs less than the bookkeeping.
constexpr std::size_t kLargeBytes = 64 * 1024;

/// A value that is to travel as JSON, for peers that are not written in Python.
struct Json {
  nb::object value;
};

// ---- Arrays

const comm::DType* plain_dtype(nb::handle dtype) {
  // The dtypes of NumPy's own types are few and live as long as NumPy; those with units or lengths
  // are made anew each time and looked up by their text.
  static nb::handle known = nb::dict().release();
  if (PyObject* const found = PyDict_GetItem(known.ptr(), dtype.ptr())) {
    return static_cast<const comm::DType*>(PyCapsule_GetPointer(found, nullptr));
  }
  const std::string kind = nb::cast<std::string>(dtype.attr("kind"));
  if (kind == "O" || kind == "V" || nb::cast<bool>(dtype.attr("hasobject"))) return nullptr;
  const auto parsed = comm::DType::parse(text_of(dtype.attr("str")));
  if (!parsed || parsed->item_size() == 0) return nullptr;
  constexpr Py_ssize_t kMaxKnown = 1024;
  if (PyDict_Size(known.ptr()) >= kMaxKnown) PyDict_Clear(known.ptr());
  auto kept = std::make_unique<comm::DType>(*parsed);
  const nb::capsule capsule(kept.get(), [](void* p) noexcept {
    std::unique_ptr<comm::DType>(static_cast<comm::DType*>(p));
  });
  const comm::DType* const result = kept.release();
  if (PyDict_SetItem(known.ptr(), dtype.ptr(), capsule.ptr()) != 0) throw nb::python_error();
  return result;
}

/// The memory of the library that an array stands on, if it does, whole or in part.
Memory* memory_under(nb::handle array) {
  nb::object base = array.attr("base");
  while (!base.is_none()) {
    if (nb::isinstance<Memory>(base)) return nb::inst_ptr<Memory>(base);
    if (!base.type().is(Modules::get().ndarray)) return nullptr;
    base = base.attr("base");
  }
  return nullptr;
}

/// Shares memory that the library lent for this array (`Proxy.empty`), so that it is handed over.
std::optional<Buffer> hand_over(nb::handle array, const Buffer& elements) {
  Memory* const memory = memory_under(array);
  if (memory == nullptr || memory->access() == Memory::Access::writable) return std::nullopt;
  if (memory->access() == Memory::Access::draft) {
    memory->freeze();
    array.attr("flags").attr("writeable") = false;
  } else if (elements.lent()) {
    return std::nullopt;
  }
  return Buffer::share(elements.bytes(), memory->buffer().owner());
}

std::optional<comm::Body> encode_array(nb::handle array) {
  const nb::object dtype = array.attr("dtype");
  const comm::DType* const plain = plain_dtype(dtype);
  if (plain == nullptr || !nb::cast<bool>(array.attr("flags").attr("c_contiguous")))
    return std::nullopt;
  std::vector<std::int64_t> shape;
  const nb::tuple extents = nb::borrow<nb::tuple>(array.attr("shape"));
  if (extents.size() > comm::kMaxDimensions) return std::nullopt;
  for (nb::handle extent : extents) shape.push_back(nb::cast<std::int64_t>(extent));
  // Dates have no buffer protocol; their numbers do.
  const char kind = plain->str()[1];
  const bool date = kind == 'M' || kind == 'm';
  Buffer elements = buffer_of(date ? nb::object(array.attr("view")("i8")) : nb::borrow(array));
  if (elements.owner()) {
    if (auto handed_over = hand_over(array, elements)) elements = *std::move(handed_over);
  }
  return comm::Body::array(*plain, std::move(shape), std::move(elements));
}

nb::object new_array(nb::handle shape, nb::handle dtype, nb::handle memory) {
  std::array<PyObject*, 3> arguments = {shape.ptr(), dtype.ptr(), memory.ptr()};
  PyObject* const array = PyObject_Vectorcall(Modules::get().ndarray.ptr(), arguments.data(),
                                              arguments.size(), nullptr);
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

/// An object with the buffer protocol on a received buffer, or on a copy of it.
nb::object memory_for(const comm::Body& body, std::size_t index, Decode how) {
  const Buffer& buffer = body.buffer(index);
  const bool exclusive = body.exclusive(index);
  const bool copy = how == Decode::own ? !exclusive : buffer.owner() == nullptr;
  if (copy || (how == Decode::own && buffer.size() <= kLargeBytes)) {
    return nb::steal(PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(buffer.data()),
                                                   static_cast<Py_ssize_t>(buffer.size())));
  }
  const auto access = how == Decode::own ? Memory::Access::writable : Memory::Access::read_only;
  return nb::cast(Memory(buffer, access));
}

nb::object decode_array(const comm::Body& body, Decode how) {
  const auto& extents = body.shape();
  const nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(extents.size())));
  for (std::size_t i = 0; i < extents.size(); ++i) {
    PyTuple_SET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(extents[i]));
  }
  const nb::object dtype = Modules::get().dtype(to_str(body.dtype().str()));
  return new_array(shape, dtype, memory_for(body, 0, how));
}

// ---- Pickles

/// Takes the large buffers out of a pickle.
struct Collector {
  std::vector<Buffer> buffers;

  /// True tells pickle to keep the buffer inside.
  bool take(nb::handle pickle_buffer) {
    if (buffers.size() + 1 >= comm::kMaxBuffers) return true;
    const nb::object raw = nb::steal(PyObject_CallMethod(pickle_buffer.ptr(), "raw", nullptr));
    if (!raw.is_valid()) {
      PyErr_Clear();  // not contiguous
      return true;
    }
    if (PyMemoryView_GET_BUFFER(raw.ptr())->len < static_cast<Py_ssize_t>(kLargeBytes)) return true;
    buffers.push_back(buffer_of(raw));
    return false;
  }
};

comm::Body encode_pickle(nb::handle value) {
  const nb::object collector = nb::cast(Collector());
  static const nb::handle protocol = nb::int_(5).release();
  static const nb::handle names =
      nb::make_tuple(nb::str("protocol"), nb::str("buffer_callback")).release();
  std::array<PyObject*, 3> arguments = {value.ptr(), protocol.ptr(), collector.ptr()};
  const nb::object pickle = nb::steal(
      PyObject_Vectorcall(Modules::get().pickle_dumps.ptr(), arguments.data(), 1, names.ptr()));
  if (!pickle.is_valid()) throw nb::python_error();
  return comm::Body::python(buffer_of(pickle),
                            std::move(nb::inst_ptr<Collector>(collector)->buffers));
}

nb::object decode_pickle(const comm::Body& body, Decode how) {
  auto* const data = const_cast<char*>(reinterpret_cast<const char*>(body.buffer().data()));
  const nb::object stream = nb::steal(
      PyMemoryView_FromMemory(data, static_cast<Py_ssize_t>(body.buffer().size()), PyBUF_READ));
  if (body.buffer_count() == 1) return Modules::get().pickle_loads(stream);
  nb::list buffers;
  for (std::size_t i = 1; i < body.buffer_count(); ++i) buffers.append(memory_for(body, i, how));
  return Modules::get().pickle_loads(stream, nb::arg("buffers") = buffers);
}

// ---- JSON

comm::Body encode_json(const Json& json) {
  return comm::Body::json(
      buffer_of_text(Modules::get().json_dumps(json.value, nb::arg("ensure_ascii") = false)));
}

nb::object decode_text(const Buffer& buffer) {
  const auto size = static_cast<Py_ssize_t>(buffer.size());
  return nb::steal(
      PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(buffer.data()), size, "replace"));
}

nb::object decode_bytes(const Buffer& buffer) {
  return nb::steal(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(buffer.data()),
                                             static_cast<Py_ssize_t>(buffer.size())));
}

}  // namespace

comm::Body encode_body(nb::handle value) {
  if (PyBytes_CheckExact(value.ptr())) return comm::Body::bytes(buffer_of(value));
  if (PyUnicode_CheckExact(value.ptr())) {
    // A lone surrogate has no UTF-8 form, but a pickle.
    if (PyUnicode_AsUTF8AndSize(value.ptr(), nullptr) != nullptr)
      return comm::Body::text(buffer_of_text(value));
    PyErr_Clear();
    return encode_pickle(value);
  }
  if (value.type().is(Modules::get().ndarray)) {
    if (auto array = encode_array(value)) return *std::move(array);
  }
  if (PyMemoryView_Check(value.ptr())) return comm::Body::bytes(buffer_of(value));
  if (nb::isinstance<Json>(value)) return encode_json(*nb::inst_ptr<Json>(value));
  return encode_pickle(value);
}

nb::object decode_body(const comm::Body& body, Decode how) {
  switch (body.type()) {
    case comm::BodyType::bytes: return decode_bytes(body.buffer());
    case comm::BodyType::text: return decode_text(body.buffer());
    case comm::BodyType::json: return Modules::get().json_loads(decode_text(body.buffer()));
    case comm::BodyType::array: return decode_array(body, how);
    case comm::BodyType::python: return decode_pickle(body, how);
  }
  return nb::none();
}

nb::object draft_array(Buffer memory, nb::handle shape, nb::handle dtype) {
  return new_array(shape, dtype, nb::cast(Memory(std::move(memory), Memory::Access::draft)));
}

void bind_body(nb::module_& module) {
  nb::class_<Json>(module, "Json",
                   "A value that is to travel as JSON instead of a pickle, for peers that are not "
                   "written in Python.\n\n"
                   "The receiver finds the plain value in the body: ``Message(tag, me, peer, "
                   "body=Json({\"lr\": 0.1}))``.")
      .def(nb::init<nb::object>(), nb::arg("value"))
      .def_ro("value", &Json::value, "The value itself.")
      .def("__repr__", [](const Json& self) {
        return "Json(" + std::string(nb::repr(self.value).c_str()) + ")";
      });

  nb::class_<Collector>(module, "_Collector")
      .def("__call__",
           [](Collector& self, nb::handle pickle_buffer) { return self.take(pickle_buffer); });
}

}  // namespace muster::python
