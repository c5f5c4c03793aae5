#include "muster/engine/ops/elementwise/complex_parts.h"

#include <cmath>

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/elementwise/complex_parts.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "muster/engine/ops/elementwise/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

struct Conjugate {
  template <class T>
  static HWY_INLINE T of(T x) {
    return {x.real(), -x.imag()};
  }
};
struct Real {
  template <class T>
  static HWY_INLINE auto of(T x) {
    return x.real();
  }
};
struct Imag {
  template <class T>
  static HWY_INLINE auto of(T x) {
    if constexpr (kIsComplex<T>)
      return x.imag();
    else
      return T(0);
  }
};
struct Angle {
  template <class T>
  static auto of(T x) {
    if constexpr (kIsComplex<T>)
      return std::atan2(x.imag(), x.real());
    else
      return std::atan2(T(0), x);
  }
};
struct IsComplex {
  template <class T>
  static HWY_INLINE bool of(T x) {
    return x.imag() != 0;
  }
};
struct IsReal {
  template <class T>
  static HWY_INLINE bool of(T x) {
    return !IsComplex::of(x);
  }
};

/// Complex numbers have real results.
template <class Op>
Rows parts() {
  return Rows()
      .add(row<Op, float, std::complex<float>>())
      .add(row<Op, double, std::complex<double>>());
}

std::vector<UfuncRow> complex_parts() {
  constexpr auto kReals = kBool + kIntegers + kFloats;
  return {
      {"conjugate",
       "the complex conjugate",
       {1, Rows().moved(kIntegers + kFloats).unary<Conjugate>(kComplexes)}},
      {"real", "the real part", {1, Rows().moved(kReals).append(parts<Real>())}},
      {"imag", "the imaginary part", {1, Rows().unary<Imag>(kReals).append(parts<Imag>())}},
      {"angle",
       "the angle in the complex plane, in radians",
       {1, Rows().unary<Angle>(kFloats).append(parts<Angle>())}},
      {"iscomplex",
       "whether the imaginary part is not zero",
       {1, Rows().answered<false>(kReals).test<IsComplex>(kComplexes)}},
      {"isreal",
       "whether the imaginary part is zero",
       {1, Rows().answered<true>(kReals).test<IsReal>(kComplexes)}},
  };
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {
namespace {
HWY_EXPORT(complex_parts);
}

void register_complex_parts(Registry& registry) {
  static const UfuncTable kTable(HWY_DYNAMIC_DISPATCH(complex_parts)());
  kTable.add_to(registry);
}

}  // namespace muster::engine
#endif
