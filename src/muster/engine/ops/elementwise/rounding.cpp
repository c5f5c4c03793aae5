#include "muster/engine/ops/elementwise/rounding.h"

#include <cmath>

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/elementwise/rounding.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "muster/engine/ops/elementwise/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

struct Floor {
  template <class T>
  static HWY_INLINE T of(T x) {
    return std::floor(x);
  }
};
struct Ceil {
  template <class T>
  static HWY_INLINE T of(T x) {
    return std::ceil(x);
  }
};
struct Trunc {
  template <class T>
  static HWY_INLINE T of(T x) {
    return std::trunc(x);
  }
};
/// To the nearest, halves to the even one.
struct Rint {
  template <class T>
  static HWY_INLINE T of(T x) {
    if constexpr (kIsComplex<T>)
      return {std::rint(x.real()), std::rint(x.imag())};
    else
      return std::rint(x);
  }
};

std::vector<UfuncRow> rounding() {
  constexpr auto kWhole = kBool + kIntegers;
  return {
      {"floor", "the largest whole number below", {1, Rows().moved(kWhole).unary<Floor>(kFloats)}},
      {"ceil", "the smallest whole number above", {1, Rows().moved(kWhole).unary<Ceil>(kFloats)}},
      {"trunc", "the whole part", {1, Rows().moved(kWhole).unary<Trunc>(kFloats)}},
      {"rint", "the nearest whole number", {1, Rows().unary<Rint>(kFloats + kComplexes)}},
  };
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {
namespace {
HWY_EXPORT(rounding);
}

void register_rounding(Registry& registry) {
  static const UfuncTable kTable(HWY_DYNAMIC_DISPATCH(rounding)());
  kTable.add_to(registry);
}

}  // namespace muster::engine
#endif
