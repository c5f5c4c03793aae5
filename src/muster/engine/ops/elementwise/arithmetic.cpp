#include "muster/engine/ops/elementwise/arithmetic.h"

#include <cmath>
#include <limits>

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/elementwise/arithmetic.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "muster/engine/ops/elementwise/time_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

struct Add {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (std::is_same_v<T, bool>)
      return a | b;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    else
      return a + b;
  }
};

struct Subtract {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
    else
      return a - b;
  }
};

struct Multiply {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (std::is_same_v<T, bool>)
      return a & b;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    else if constexpr (kIsComplex<T>)
      return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    else
      return a * b;
  }
};

/// Of whole numbers, whatever their size.
struct Ratio {
  template <class T>
  static HWY_INLINE double of(T a, T b) {
    return static_cast<double>(a) / static_cast<double>(b);
  }
};

struct Divide {
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (kIsComplex<T>) {
      // By the larger part of the divisor, so that nothing overflows on the way.
      using R = typename T::value_type;
      const R real = std::abs(b.real());
      const R imag = std::abs(b.imag());
      if (real >= imag) {
        if (real == 0 && imag == 0) return {a.real() / real, a.imag() / real};
        const R ratio = b.imag() / b.real();
        const R scale = 1 / (b.real() + b.imag() * ratio);
        return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
      }
      const R ratio = b.real() / b.imag();
      const R scale = 1 / (b.imag() + b.real() * ratio);
      return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
    } else {
      return a / b;
    }
  }
};

struct Negative {
  template <class T>
  static HWY_INLINE T of(T a) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(-static_cast<Wrapping<T>>(a));
    else
      return -a;
  }
};

struct Absolute {
  template <class T>
  static HWY_INLINE auto of(T a) {
    if constexpr (kIsComplex<T>)
      return std::hypot(a.real(), a.imag());
    else if constexpr (kIsFloat<T>)
      return std::abs(a);
    else if constexpr (std::is_signed_v<T>)
      return a < 0 ? Negative::of(a) : a;
    else
      return a;
  }
};

struct Sign {
  template <class T>
  static HWY_INLINE T of(T a) {
    if constexpr (kIsComplex<T>) {
      using R = typename T::value_type;
      const R length = std::hypot(a.real(), a.imag());
      if (length == 0) return {};
      if (std::isinf(length)) {
        const bool both = std::isinf(a.real()) && std::isinf(a.imag());
        if (both) return {std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::quiet_NaN()};
        return std::isinf(a.real()) ? T(std::copysign(R(1), a.real()), 0)
                                    : T(0, std::copysign(R(1), a.imag()));
      }
      return {a.real() / length, a.imag() / length};
    } else if constexpr (kIsFloat<T>) {
      return a > 0 ? T(1) : (a < 0 ? T(-1) : (a == 0 ? T(0) : a));
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<T>((a > 0) - (a < 0));
    } else {
      return a > 0;
    }
  }
};

struct Square {
  template <class T>
  static HWY_INLINE T of(T a) {
    return Multiply::of(a, a);
  }
};

struct Reciprocal {
  template <class T>
  static HWY_INLINE T of(T a) {
    if constexpr (!std::is_integral_v<T>) {
      return Divide::of(T(1), a);
    } else {
      // What x86 makes of infinity.
      constexpr T kOfZero =
          std::is_signed_v<T> && sizeof(T) >= 4 ? std::numeric_limits<T>::min() : 0;
      if (a == 0) return kOfZero;
      return a == 1 || (std::is_signed_v<T> && a == static_cast<T>(-1)) ? a : T(0);
    }
  }
};

template <class T, class Op>
LoopRow to_real() {
  return row<Op, T, std::complex<T>>();
}

using I = std::int64_t;
constexpr Type kDate = Type::datetime;
constexpr Type kDelta = Type::timedelta;

Rows sums() {
  using Sum = OfTimes<Add>;
  return Rows()
      .timed<Sum, I, I, I>(kDate, {kDate, kDelta})
      .timed<Sum, I, I, I>(kDelta, {kDelta, kDelta})
      .timed<Sum, I, I, I>(kDate, {kDelta, kDate});
}

Rows differences() {
  using Difference = OfTimes<Subtract>;
  return Rows()
      .timed<Difference, I, I, I>(kDate, {kDate, kDelta})
      .timed<Difference, I, I, I>(kDelta, {kDelta, kDelta})
      .timed<Difference, I, I, I>(kDelta, {kDate, kDate});
}

/// By a whole number, which may be none too, or by a float.
Rows products() {
  using Product = OfTimes<Multiply>;
  return Rows()
      .timed<Product, I, I, I>(kDelta, {kDelta, Type::i64})
      .timed<Product, I, I, I>(kDelta, {Type::i64, kDelta})
      .timed<TimeProduct, I, I, double>(kDelta, {kDelta, Type::f64})
      .timed<TimeProduct, I, double, I>(kDelta, {Type::f64, kDelta});
}

std::vector<UfuncRow> arithmetic() {
  constexpr auto kInexact = kFloats + kComplexes;
  constexpr auto kNumbers = kIntegers + kInexact;
  return {
      {"add",
       "x1 + x2",
       {2, Rows().binary<Add>(kBool).whole_binary<Add>().binary<Add>(kInexact).append(sums())}},
      {"subtract",
       "x1 - x2",
       {2, Rows().whole_binary<Subtract>().binary<Subtract>(kInexact).append(differences())}},
      {"multiply",
       "x1 * x2",
       {2,
        Rows().binary<Multiply>(kBool).whole_binary<Multiply>().binary<Multiply>(kInexact).append(
            products())}},
      {"divide",
       "x1 / x2",
       {2,
        Rows()
            .timed<Ratio, double, I, I>(Type::f64, {Type::i64, Type::i64})
            .timed<Ratio, double, std::uint64_t, std::uint64_t>(Type::f64, {Type::u64, Type::u64})
            .binary<Divide>(kFloats + kComplexes)
            .append(time_quotients())
            .timed<TimeRatio, double, I, I>(Type::f64, {kDelta, kDelta})}},
      {"negative",
       "-x",
       {1, Rows().whole_unary<Negative>().unary<Negative>(kInexact).timed<OfTime<Negative>, I, I>(
               kDelta, {kDelta})}},
      {"positive", "+x", {1, Rows().moved(kNumbers).timed<Same, I, I>(kDelta, {kDelta})}},
      {"absolute",
       "the distance from zero",
       {1, Rows()
               .unary<Absolute>(kBool + kIntegers + kFloats)
               .timed<OfTime<Absolute>, I, I>(kDelta, {kDelta})
               .add(to_real<float, Absolute>())
               .add(to_real<double, Absolute>())}},
      {"fabs", "the distance from zero, of floats", {1, Rows().unary<Absolute>(kFloats)}},
      {"sign", "-1, 0 or 1", {1, Rows().unary<Sign>(kNumbers).timed<Sign, I, I>(kDelta, {kDelta})}},
      {"square", "x * x", {1, Rows().whole_unary<Square>().unary<Square>(kInexact)}},
      {"reciprocal", "1 / x", {1, Rows().unary<Reciprocal>(kNumbers)}},
  };
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {
namespace {
HWY_EXPORT(arithmetic);
}

void register_arithmetic(Registry& registry) {
  static const UfuncTable kTable(HWY_DYNAMIC_DISPATCH(arithmetic)());
  kTable.add_to(registry);
}

}  // namespace muster::engine
#endif
