#include "muster/engine/ops/elementwise/floating_point.h"

#include <bit>
#include <climits>
#include <cmath>
#include <limits>

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/elementwise/floating_point.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "muster/engine/ops/elementwise/time_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

struct IsNan {
  template <class T>
  static HWY_INLINE bool of(T x) {
    if constexpr (kIsComplex<T>)
      return is_nan(x.real()) || is_nan(x.imag());
    else
      return is_nan(x);
  }
};
struct IsInf {
  template <class T>
  static HWY_INLINE bool of(T x) {
    if constexpr (kIsComplex<T>)
      return of(x.real()) || of(x.imag());
    else
      return std::abs(x) == std::numeric_limits<T>::infinity();
  }
};
struct IsFinite {
  template <class T>
  static HWY_INLINE bool of(T x) {
    if constexpr (kIsComplex<T>)
      return of(x.real()) && of(x.imag());
    else
      return std::abs(x) < std::numeric_limits<T>::infinity();
  }
};
struct IsNat {
  static HWY_INLINE bool of(std::int64_t x) { return x == kNaT; }
};
struct IsTime {
  static HWY_INLINE bool of(std::int64_t x) { return x != kNaT; }
};
struct Signbit {
  template <class T>
  static HWY_INLINE bool of(T x) {
    return std::signbit(x);
  }
};
struct Copysign {
  template <class T>
  static HWY_INLINE T of(T x, T y) {
    return std::copysign(x, y);
  }
};
struct Nextafter {
  template <class T>
  static T of(T x, T y) {
    return std::nextafter(x, y);
  }
};
/// The distance to the next number away from zero.
struct Spacing {
  template <class T>
  static T of(T x) {
    if (std::isinf(x)) return std::numeric_limits<T>::quiet_NaN();
    if (x == 0) return std::numeric_limits<T>::denorm_min();
    const T away = std::copysign(std::numeric_limits<T>::infinity(), x);
    return std::nextafter(x, away) - x;
  }
};

/// Half floats have neighbours of their own: their bits count them.
Float16 next_half(Float16 x, bool away) {
  const std::uint16_t magnitude = x.bits & 0x7fff;
  const std::uint16_t sign = x.bits & 0x8000;
  const auto next = static_cast<std::uint16_t>(away ? magnitude + 1 : magnitude - 1);
  return {static_cast<std::uint16_t>(sign | next)};
}
void nextafter_half(const std::byte* const* in, std::byte* out, std::size_t count) {
  const auto* const x = reinterpret_cast<const Float16*>(in[0]);
  const auto* const y = reinterpret_cast<const Float16*>(in[1]);
  auto* const to = reinterpret_cast<Float16*>(out);
  for (std::size_t i = 0; i < count; ++i) {
    const float a = to_float(x[i]);
    const float b = to_float(y[i]);
    if (std::isnan(a) || std::isnan(b))
      to[i] = {0x7e00};
    else if (a == b)
      to[i] = y[i];
    else if (a == 0)
      to[i] = {static_cast<std::uint16_t>((y[i].bits & 0x8000) | 1)};
    else
      to[i] = next_half(x[i], (b > a) == (a > 0));
  }
}
/// As in NumPy, the distance to the next larger one.
void spacing_half(const std::byte* const* in, std::byte* out, std::size_t count) {
  const auto* const x = reinterpret_cast<const Float16*>(in[0]);
  auto* const to = reinterpret_cast<Float16*>(out);
  for (std::size_t i = 0; i < count; ++i) {
    const float a = to_float(x[i]);
    const Float16 next = a == 0 ? Float16{1} : next_half(x[i], a > 0);
    to[i] = std::isfinite(a) ? to_float16(to_float(next) - a) : Float16{0x7e00};
  }
}

/// x1 * 2**x2.
struct Ldexp {
  template <class T, class N>
  static T of(T x, N power) {
    constexpr N kMost = 1 << 20;
    return std::ldexp(x, static_cast<int>(std::clamp<N>(power, -kMost, kMost)));
  }
};
template <class N>
struct LdexpHalf {
  static Float16 of(Float16 x, N power) { return to_float16(Ldexp::of(to_float(x), power)); }
};

/// The two results of frexp and modf are operators of their own.
struct Mantissa {
  template <class T>
  static T of(T x) {
    int exponent = 0;
    return std::frexp(x, &exponent);
  }
};
struct Exponent {
  template <class T>
  static std::int32_t of(T x) {
    int exponent = 0;
    (void)std::frexp(x, &exponent);
    return std::isfinite(x) ? exponent : 0;
  }
};
struct Fraction {
  template <class T>
  static HWY_INLINE T of(T x) {
    const T infinity = std::numeric_limits<T>::infinity();
    const T part = std::abs(x) == infinity ? T(0) : x - std::trunc(x);
    return std::copysign(part, x);
  }
};
struct Whole {
  template <class T>
  static HWY_INLINE T of(T x) {
    return std::trunc(x);
  }
};

template <class Op, class OnTimes, bool of_whole>
std::vector<LoopRow> tests() {
  using I = std::int64_t;
  return Rows()
      .answered<of_whole>(kBool + kIntegers)
      .template test<Op>(kFloats + kComplexes)
      .template timed<OnTimes, bool, I>(Type::b1, {Type::timedelta})
      .template timed<OnTimes, bool, I>(Type::b1, {Type::datetime});
}

std::vector<UfuncRow> floating_point() {
  using I = std::int64_t;
  return {
      {"isnan", "whether it is no number", {1, tests<IsNan, IsNat, false>()}},
      {"isinf", "whether it is infinite", {1, tests<IsInf, Answer<false>, false>()}},
      {"isfinite", "whether it is neither infinite nor NaN", {1, tests<IsFinite, IsTime, true>()}},
      {"isnat",
       "whether it is no time",
       {1, Rows()
               .timed<IsNat, bool, I>(Type::b1, {Type::timedelta})
               .timed<IsNat, bool, I>(Type::b1, {Type::datetime})}},
      {"signbit", "whether the sign is set", {1, Rows().test<Signbit>(kFloats)}},
      {"copysign", "x1 with the sign of x2", {2, Rows().binary<Copysign>(kFloats)}},
      {"nextafter",
       "the number after x1 towards x2",
       {2, Rows()
               .add({{Type::f16, Type::f16}, Type::f16, nextafter_half})
               .binary<Nextafter>(Types<float, double>())}},
      {"spacing",
       "the distance to the next number",
       {1,
        Rows().add({{Type::f16}, Type::f16, spacing_half}).unary<Spacing>(Types<float, double>())}},
      {"ldexp",
       "x1 * 2**x2",
       {2, Rows()
               .add(row<LdexpHalf<std::int32_t>, Float16, Float16, std::int32_t>())
               .add(row<Ldexp, float, float, std::int32_t>())
               .add(row<LdexpHalf<I>, Float16, Float16, I>())
               .add(row<Ldexp, float, float, I>())
               .add(row<Ldexp, double, double, std::int32_t>())
               .add(row<Ldexp, double, double, I>())}},
      {"frexp_mantissa", "the first result of frexp", {1, Rows().unary<Mantissa>(kFloats)}},
      {"frexp_exponent",
       "the second result of frexp",
       {1, Rows()
               .add(row<Exponent, std::int32_t, Float16>())
               .add(row<Exponent, std::int32_t, float>())
               .add(row<Exponent, std::int32_t, double>())}},
      {"modf_fraction", "the first result of modf", {1, Rows().unary<Fraction>(kFloats)}},
      {"modf_whole", "the second result of modf", {1, Rows().unary<Whole>(kFloats)}},
  };
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {
namespace {
HWY_EXPORT(floating_point);
}

void register_floating_point(Registry& registry) {
  static const UfuncTable kTable(HWY_DYNAMIC_DISPATCH(floating_point)());
  kTable.add_to(registry);
}

}  // namespace muster::engine
#endif
