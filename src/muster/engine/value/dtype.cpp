#include "muster/engine/value/dtype.h"

#include <algorithm>

namespace muster::engine {

namespace {

constexpr std::array<std::string_view, kTypes> kNames = {
    "bool",      "int8",       "uint8",      "int16",      "uint16",  "int32",
    "uint32",    "int64",      "uint64",     "float16",    "float32", "float64",
    "complex64", "complex128", "datetime64", "timedelta64"};
constexpr std::array<std::string_view, 14> kUnits = {"",  "Y",  "M",  "W",  "D",  "h",  "m",
                                                     "s", "ms", "us", "ns", "ps", "fs", "as"};

constexpr Type signed_of_size(std::size_t bytes) {
  return bytes == 1 ? Type::i8 : bytes == 2 ? Type::i16 : bytes == 4 ? Type::i32 : Type::i64;
}

constexpr Type promote_integers(Type a, Type b) {
  if (is_signed_integer(a) == is_signed_integer(b)) return item_size(a) >= item_size(b) ? a : b;
  const Type signed_one = is_signed_integer(a) ? a : b;
  const Type unsigned_one = is_signed_integer(a) ? b : a;
  if (item_size(signed_one) > item_size(unsigned_one)) return signed_one;
  return unsigned_one == Type::u64 ? Type::f64 : signed_of_size(2 * item_size(unsigned_one));
}

/// The smallest float that holds every value of the type.
constexpr Type float_for(Type t) {
  if (is_float(t)) return t;
  if (is_complex(t)) return real_type(t);
  if (t == Type::b1 || item_size(t) == 1) return Type::f16;
  return item_size(t) == 2 ? Type::f32 : Type::f64;
}

constexpr Type promote_numbers(Type a, Type b) {
  if (a == b || b == Type::b1) return a;
  if (a == Type::b1) return b;
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  const Type real = std::max(float_for(a), float_for(b));
  if (!is_complex(a) && !is_complex(b)) return real;
  return real == Type::f64 ? Type::c128 : Type::c64;
}

/// Years and months have no fixed length, so a timedelta of them does not mix with the others.
constexpr bool is_calendar(TimeUnit unit) { return unit == TimeUnit::Y || unit == TimeUnit::M; }

std::optional<DType> promote_times(DType a, DType b) {
  const bool both_times = is_time(a.type) && is_time(b.type);
  if (!both_times) {
    const DType time = is_time(a.type) ? a : b;
    const Type other = is_time(a.type) ? b.type : a.type;
    if (time.type == Type::timedelta && (is_integer(other) || other == Type::b1)) return time;
    return std::nullopt;
  }
  const bool mixed = is_calendar(a.unit) != is_calendar(b.unit) && a.unit != TimeUnit::generic &&
                     b.unit != TimeUnit::generic;
  if (mixed && a.type == Type::timedelta && b.type == Type::timedelta) return std::nullopt;
  const Type type =
      a.type == Type::datetime || b.type == Type::datetime ? Type::datetime : Type::timedelta;
  return DType(type, std::max(a.unit, b.unit));
}

/// b, u, i, f, c, M, m in the order in which casts of the same kind may go.
constexpr int kind_rank(Type t) {
  if (t == Type::b1) return 0;
  if (is_unsigned_integer(t)) return 1;
  if (is_signed_integer(t)) return 2;
  if (is_float(t)) return 3;
  return 4;
}

}  // namespace

std::string name(DType dtype) {
  std::string text(kNames[static_cast<std::size_t>(dtype.type)]);
  if (is_time(dtype.type) && dtype.unit != TimeUnit::generic)
    text.append("[").append(kUnits[static_cast<std::size_t>(dtype.unit)]).append("]");
  return text;
}

std::optional<DType> dtype_named(std::string_view name) {
  TimeUnit unit = TimeUnit::generic;
  if (const auto open = name.find('['); open != std::string_view::npos && name.ends_with(']')) {
    const auto text = name.substr(open + 1, name.size() - open - 2);
    const auto* const found = std::find(kUnits.begin() + 1, kUnits.end(), text);
    if (found == kUnits.end()) return std::nullopt;
    unit = static_cast<TimeUnit>(found - kUnits.begin());
    name = name.substr(0, open);
  }
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  const auto type = static_cast<Type>(found - kNames.begin());
  if (unit != TimeUnit::generic && !is_time(type)) return std::nullopt;
  return DType(type, unit);
}

std::optional<DType> promote(DType a, DType b) {
  if (a == b) return a;
  if (is_time(a.type) || is_time(b.type)) return promote_times(a, b);
  return promote_numbers(a.type, b.type);
}

bool can_cast(DType from, DType to, Casting casting) {
  if (from == to || casting == Casting::unsafe) return true;
  if (is_time(from.type) || is_time(to.type)) {
    if (from.type == to.type)
      return casting == Casting::same_kind || from.unit == TimeUnit::generic ||
             from.unit <= to.unit;
    return to.type == Type::timedelta && (is_integer(from.type) || from.type == Type::b1) &&
           (casting == Casting::same_kind || from.type != Type::u64);
  }
  if (promote_numbers(from.type, to.type) == to.type) return true;
  return casting == Casting::same_kind && kind_rank(from.type) <= kind_rank(to.type);
}

}  // namespace muster::engine
