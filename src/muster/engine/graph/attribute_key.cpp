#include "muster/engine/graph/attribute_key.h"

#include <type_traits>

namespace muster::engine {

namespace {

template <class T>
void append_raw(std::string& key, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  key.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// Where something is stands for what it is.
void append_place(std::string& key, const void* place) {
  append_raw(key, reinterpret_cast<std::uintptr_t>(place));
}

template <class T>
void append_all(std::string& key, const std::vector<T>& values) {
  append_raw(key, values.size());
  for (const T& value : values) append_raw(key, value);
}

struct Append {
  std::string& key;

  void operator()(std::monostate) const {}
  void operator()(bool value) const { append_raw(key, value); }
  void operator()(std::int64_t value) const { append_raw(key, value); }
  void operator()(double value) const { append_raw(key, value); }
  void operator()(const std::string& value) const {
    append_raw(key, value.size());
    key += value;
  }
  void operator()(const Ints& value) const { append_all(key, value); }
  void operator()(const Doubles& value) const { append_all(key, value); }
  void operator()(DType value) const {
    append_raw(key, value.type);
    append_raw(key, value.unit);
  }
  void operator()(const Scalar& value) const {
    (*this)(value.dtype());
    key.append(static_cast<const char*>(value.data()), item_size(value.dtype()));
  }
  void operator()(const Array& value) const {
    append_place(key, value.data());
    (*this)(value.dtype());
    append_all(key, value.shape());
    append_all(key, value.strides());
  }
  void operator()(const List& value) const {
    append_raw(key, value.size());
    for (const Attribute& each : value) append(each.value);
  }
  void operator()(const std::shared_ptr<const Program>& value) const {
    append_place(key, value.get());
  }
  void operator()(const std::shared_ptr<const PythonFunction>& value) const {
    append_place(key, value.get());
  }

  void append(const Attribute::Value& value) const {
    append_raw(key, value.index());
    std::visit(*this, value);
  }
};

}  // namespace

void append_key(std::string& key, const Attributes& attributes) {
  for (const auto& [name, value] : attributes.pairs()) {
    key.append(name).push_back('\0');
    Append{key}.append(value);
  }
}

}  // namespace muster::engine
