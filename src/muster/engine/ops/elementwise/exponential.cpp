#include "muster/engine/ops/elementwise/exponential.h"

#include <numbers>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/elementwise/exponential.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "muster/engine/ops/elementwise/sleef-inl.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

template <class T>
T exp2_of(T x) {
  if constexpr (kIsComplex<T>)
    return std::exp(x * std::numbers::ln2_v<typename T::value_type>);
  else
    return std::exp2(x);
}
template <class T>
T log2_of(T x) {
  if constexpr (kIsComplex<T>) {
    const T natural = std::log(x);
    constexpr auto kScale = std::numbers::log2e_v<typename T::value_type>;
    return {natural.real() * kScale, natural.imag() * kScale};
  } else {
    return std::log2(x);
  }
}
template <class T>
T log10_of(T x) {
  if constexpr (kIsComplex<T>) {
    const T natural = std::log(x);
    constexpr auto kScale = std::numbers::log10e_v<typename T::value_type>;
    return {natural.real() * kScale, natural.imag() * kScale};
  } else {
    return std::log10(x);
  }
}
template <class T>
T expm1_of(T x) {
  if constexpr (kIsComplex<T>) {
    // exp(a + bi) - 1 without the loss near zero.
    const auto half = std::sin(x.imag() / 2);
    return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half,
            std::exp(x.real()) * std::sin(x.imag())};
  } else {
    return std::expm1(x);
  }
}
template <class T>
T log1p_of(T x) {
  if constexpr (kIsComplex<T>) {
    const auto length = std::hypot(x.real() + 1, x.imag());
    return {std::log(length), std::atan2(x.imag(), x.real() + 1)};
  } else {
    return std::log1p(x);
  }
}

/// Small whole powers by multiplication, as NumPy does.
template <class T>
T power_of(T x, T y) {
  if constexpr (kIsComplex<T>) {
    using R = typename T::value_type;
    if (y.real() == 0 && y.imag() == 0) return T(1);
    if (x.real() == 0 && x.imag() == 0) {
      if (y.real() > 0) return T(0);
      return {std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::quiet_NaN()};
    }
    if (y.imag() == 0 && y.real() > -100 && y.real() < 100 && y.real() == std::trunc(y.real())) {
      const auto times = [](T a, T b) {
        return T(a.real() * b.real() - a.imag() * b.imag(),
                 a.real() * b.imag() + a.imag() * b.real());
      };
      const int whole = static_cast<int>(y.real());
      T result(1);
      T base = x;
      for (unsigned rest = static_cast<unsigned>(std::abs(whole)); rest != 0; rest >>= 1) {
        if ((rest & 1) != 0) result = times(result, base);
        base = times(base, base);
      }
      return whole < 0 ? T(1) / result : result;
    }
    return std::pow(x, y);
  } else {
    return std::pow(x, y);
  }
}

[[maybe_unused]] constexpr float kNoLimitF = Limits<float>::kNone;
[[maybe_unused]] constexpr double kNoLimitD = Limits<double>::kNone;
MUSTER_SLEEF_UNARY(Exp, std::exp, exp, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Exp2, exp2_of, exp2, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Expm1, expm1_of, expm1, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Log, std::log, log, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Log2, log2_of, log2, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Log10, log10_of, log10, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Log1p, log1p_of, log1p, u10, 1e37F, 1e300)
MUSTER_SLEEF_UNARY(Cbrt, std::cbrt, cbrt, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_BINARY(Pow, power_of, pow, u10)

struct Sqrt {
  template <class T>
  static HWY_INLINE T of(T x) {
    return std::sqrt(x);
  }
};

/// Whole numbers wrap around; a negative exponent has no whole result.
struct WholePower {
  template <class T>
  static T of(T x, T y) {
    if constexpr (std::is_signed_v<T>)
      if (y < 0) wrong_value("[power] integers to negative integer powers are not allowed");
    Wrapping<T> result = 1;
    auto base = static_cast<Wrapping<T>>(x);
    for (auto rest = static_cast<std::make_unsigned_t<T>>(y); rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
};

/// log(exp(x) + exp(y)) without overflow.
struct Logaddexp {
  template <class T>
  static T of(T x, T y) {
    if (x == y) return x + std::numbers::ln2_v<T>;
    const T apart = x - y;
    if (apart > 0) return x + std::log1p(std::exp(-apart));
    if (apart <= 0) return y + std::log1p(std::exp(apart));
    return apart;
  }
};
struct Logaddexp2 {
  template <class T>
  static T of(T x, T y) {
    const auto log2_1p = [](T value) { return std::numbers::log2e_v<T> * std::log1p(value); };
    if (x == y) return x + 1;
    const T apart = x - y;
    if (apart > 0) return x + log2_1p(std::exp2(-apart));
    if (apart <= 0) return y + log2_1p(std::exp2(apart));
    return apart;
  }
};

std::vector<UfuncRow> exponential() {
  return {
      {"exp", "e to the power x", {1, vector_rows_and_complex<Exp>()}},
      {"exp2", "2 to the power x", {1, vector_rows_and_complex<Exp2>()}},
      {"expm1", "exp(x) - 1, exact near zero", {1, vector_rows_and_complex<Expm1>()}},
      {"log", "the natural logarithm", {1, vector_rows_and_complex<Log>()}},
      {"log2", "the logarithm to base 2", {1, vector_rows_and_complex<Log2>()}},
      {"log10", "the logarithm to base 10", {1, vector_rows_and_complex<Log10>()}},
      {"log1p", "log(1 + x), exact near zero", {1, vector_rows_and_complex<Log1p>()}},
      {"sqrt", "the square root", {1, Rows().unary<Sqrt>(kFloats + kComplexes)}},
      {"cbrt", "the cube root", {1, vector_rows<Cbrt>()}},
      {"power",
       "x1 to the power x2",
       {2,
        Rows().binary<WholePower>(kIntegers).append(vector_rows2<Pow>()).binary<Pow>(kComplexes)}},
      {"float_power",
       "x1 to the power x2, in double precision at least",
       {2, Rows()
               .add({{Type::f64, Type::f64}, Type::f64, run_vector2<Pow, double>})
               .binary<Pow>(Types<std::complex<double>>())}},
      {"logaddexp", "log(exp(x1) + exp(x2))", {2, Rows().binary<Logaddexp>(kFloats)}},
      {"logaddexp2", "log2(2**x1 + 2**x2)", {2, Rows().binary<Logaddexp2>(kFloats)}},
  };
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {
namespace {
HWY_EXPORT(exponential);
}

void register_exponential(Registry& registry) {
  static const UfuncTable kTable(HWY_DYNAMIC_DISPATCH(exponential)());
  kTable.add_to(registry);
}

}  // namespace muster::engine
#endif
