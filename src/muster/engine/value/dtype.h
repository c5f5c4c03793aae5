#pragma once

#include <array>
#include <compare>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "muster/base/float16.h"

namespace muster::engine {

/// What kind of number an item is. `c64` and `c128` count the bits of both parts.
enum class Type : std::uint8_t {
  b1,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f16,
  f32,
  f64,
  c64,
  c128,
  datetime,
  timedelta
};
inline constexpr std::size_t kTypes = 16;

/// What a datetime or timedelta counts; coarse ones are smaller.
enum class TimeUnit : std::uint8_t { generic, Y, M, W, D, h, m, s, ms, us, ns, ps, fs, as };

/// The type of an array's items, as NumPy knows it.
struct DType {
  Type type = Type::f64;
  TimeUnit unit = TimeUnit::generic;  ///< of datetime and timedelta only

  constexpr DType() = default;
  constexpr DType(Type t, TimeUnit u = TimeUnit::generic)
      : type(t), unit(u) {}  // NOLINT: a type is a dtype

  friend constexpr auto operator<=>(const DType&, const DType&) = default;
};

[[nodiscard]] constexpr std::size_t item_size(Type type) {
  constexpr std::array<std::uint8_t, kTypes> kSizes = {1, 1, 1, 2, 2, 4,  4, 8,
                                                       8, 2, 4, 8, 8, 16, 8, 8};
  return kSizes[static_cast<std::size_t>(type)];
}
[[nodiscard]] constexpr std::size_t item_size(DType dtype) { return item_size(dtype.type); }

[[nodiscard]] constexpr bool is_signed_integer(Type t) {
  return t == Type::i8 || t == Type::i16 || t == Type::i32 || t == Type::i64;
}
[[nodiscard]] constexpr bool is_unsigned_integer(Type t) {
  return t == Type::u8 || t == Type::u16 || t == Type::u32 || t == Type::u64;
}
[[nodiscard]] constexpr bool is_integer(Type t) {
  return is_signed_integer(t) || is_unsigned_integer(t);
}
[[nodiscard]] constexpr bool is_float(Type t) {
  return t == Type::f16 || t == Type::f32 || t == Type::f64;
}
[[nodiscard]] constexpr bool is_complex(Type t) { return t == Type::c64 || t == Type::c128; }
[[nodiscard]] constexpr bool is_inexact(Type t) { return is_float(t) || is_complex(t); }
[[nodiscard]] constexpr bool is_time(Type t) { return t == Type::datetime || t == Type::timedelta; }

/// As NumPy writes it: "float64", "bool", "datetime64[ns]".
[[nodiscard]] std::string name(DType dtype);
/// The dtype that NumPy calls so; nothing for a name that is none of ours.
[[nodiscard]] std::optional<DType> dtype_named(std::string_view name);

/// The smallest type that holds both without loss, by NumPy's rules; nothing when there is none
/// (a datetime and a float).
[[nodiscard]] std::optional<DType> promote(DType a, DType b);

enum class Casting : std::uint8_t { safe, same_kind, unsafe };
/// Whether NumPy would cast so.
[[nodiscard]] bool can_cast(DType from, DType to, Casting casting = Casting::safe);

/// The real type of a complex one; others are their own.
[[nodiscard]] constexpr Type real_type(Type t) {
  return t == Type::c64 ? Type::f32 : t == Type::c128 ? Type::f64 : t;
}

namespace detail {
template <class T>
struct TypeOf;
#define MUSTER_TYPE(cpp, value)                \
  template <>                                  \
  struct TypeOf<cpp> {                         \
    static constexpr Type kType = Type::value; \
  }
MUSTER_TYPE(bool, b1);
MUSTER_TYPE(std::int8_t, i8);
MUSTER_TYPE(std::uint8_t, u8);
MUSTER_TYPE(std::int16_t, i16);
MUSTER_TYPE(std::uint16_t, u16);
MUSTER_TYPE(std::int32_t, i32);
MUSTER_TYPE(std::uint32_t, u32);
MUSTER_TYPE(std::int64_t, i64);
MUSTER_TYPE(std::uint64_t, u64);
MUSTER_TYPE(Float16, f16);
MUSTER_TYPE(float, f32);
MUSTER_TYPE(double, f64);
MUSTER_TYPE(std::complex<float>, c64);
MUSTER_TYPE(std::complex<double>, c128);
#undef MUSTER_TYPE
}  // namespace detail

/// The type of a C++ type: `kTypeOf<float>` is `Type::f32`.
template <class T>
inline constexpr Type kTypeOf = detail::TypeOf<T>::kType;

/// Calls `f` with a value of the C++ type that items of `type` have: times are int64.
template <class F>
decltype(auto) with_type(Type type, F&& f) {
  switch (type) {
    case Type::b1: return f(bool{});
    case Type::i8: return f(std::int8_t{});
    case Type::u8: return f(std::uint8_t{});
    case Type::i16: return f(std::int16_t{});
    case Type::u16: return f(std::uint16_t{});
    case Type::i32: return f(std::int32_t{});
    case Type::u32: return f(std::uint32_t{});
    case Type::u64: return f(std::uint64_t{});
    case Type::f16: return f(Float16{});
    case Type::f32: return f(float{});
    case Type::f64: return f(double{});
    case Type::c64: return f(std::complex<float>{});
    case Type::c128: return f(std::complex<double>{});
    case Type::i64:
    case Type::datetime:
    case Type::timedelta: break;
  }
  return f(std::int64_t{});
}

}  // namespace muster::engine
