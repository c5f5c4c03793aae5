#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "muster/engine/value/array.h"
#include "muster/engine/value/scalar.h"

namespace muster::engine {

class Program;
class PythonFunction;
struct Attribute;

using Ints = std::vector<std::int64_t>;
using Doubles = std::vector<double>;
using List = std::vector<Attribute>;

/// A parameter of an operator or kernel that is not a tensor. Everything here but PythonFunction
/// can be written to the wire.
struct Attribute {
  using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, Ints, Doubles,
                             DType, Scalar, Array, List, std::shared_ptr<const Program>,
                             std::shared_ptr<const PythonFunction>>;
  Value value;
};

/// Parameters by name. Immutable and shared: copying costs a reference.
class Attributes {
 public:
  using Pairs = std::vector<std::pair<std::string, Attribute::Value>>;
  Attributes() = default;
  Attributes(std::initializer_list<Pairs::value_type> pairs) : Attributes(Pairs(pairs)) {}
  explicit Attributes(Pairs pairs);

  /// Nothing, or None: the parameter was left away.
  [[nodiscard]] bool has(std::string_view name) const;
  /// The value of this type; `fallback` if it was left away. Throws ArrayError (type) naming the
  /// parameter when it is of another type; integers become doubles where asked.
  template <class T>
  [[nodiscard]] T get(std::string_view name, T fallback) const {
    const auto* found = find(name);
    return found == nullptr ? std::move(fallback) : as<T>(name, *found);
  }
  /// Likewise; throws ArrayError (type) if it was left away.
  template <class T>
  [[nodiscard]] T get(std::string_view name) const {
    return as<T>(name, value(name));
  }
  /// The value behind a name, null if it was left away or None.
  [[nodiscard]] const Attribute::Value* find(std::string_view name) const;
  /// Likewise; throws ArrayError (type) if it was left away.
  [[nodiscard]] const Attribute::Value& value(std::string_view name) const {
    const auto* found = find(name);
    if (found == nullptr) missing(name);
    return *found;
  }
  /// One number or several, as Python's `axis=0` and `axis=(0, 1)`.
  [[nodiscard]] Ints ints(std::string_view name) const;

  /// The same with one more, or one replaced.
  [[nodiscard]] Attributes with(std::string name, Attribute::Value value) const;
  [[nodiscard]] const Pairs& pairs() const;

 private:
  template <class T>
  [[nodiscard]] static T as(std::string_view name, const Attribute::Value& value) {
    if (const T* exact = std::get_if<T>(&value)) return *exact;
    if constexpr (std::is_same_v<T, double>)
      if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    mistyped(name);
  }
  [[noreturn]] static void missing(std::string_view name);
  [[noreturn]] static void mistyped(std::string_view name);

  std::shared_ptr<const Pairs> pairs_;  ///< sorted by name; null when there are none
};

}  // namespace muster::engine
