#include "muster/engine/ops/elementwise/trigonometry.h"

#include <numbers>

#include "muster/engine/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "muster/engine/ops/elementwise/trigonometry.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "muster/engine/ops/elementwise/sleef-inl.h"

HWY_BEFORE_NAMESPACE();
namespace muster::engine::HWY_NAMESPACE {

[[maybe_unused]] constexpr float kNoLimitF = Limits<float>::kNone;
[[maybe_unused]] constexpr double kNoLimitD = Limits<double>::kNone;
MUSTER_SLEEF_UNARY(Sin, std::sin, sin, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Cos, std::cos, cos, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Tan, std::tan, tan, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Arcsin, std::asin, asin, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Arccos, std::acos, acos, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Arctan, std::atan, atan, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Sinh, std::sinh, sinh, u10, 87.0F, 708.0)
MUSTER_SLEEF_UNARY(Cosh, std::cosh, cosh, u10, 87.0F, 708.0)
MUSTER_SLEEF_UNARY(Tanh, std::tanh, tanh, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_UNARY(Arcsinh, std::asinh, asinh, u10, 1e18F, 1e150)
MUSTER_SLEEF_UNARY(Arccosh, std::acosh, acosh, u10, 1e18F, 1e150)
MUSTER_SLEEF_UNARY(Arctanh, std::atanh, atanh, u10, kNoLimitF, kNoLimitD)
MUSTER_SLEEF_BINARY(Arctan2, std::atan2, atan2, u10)
MUSTER_SLEEF_BINARY(Hypot, std::hypot, hypot, u05)

struct Degrees {
  template <class T>
  static HWY_INLINE T of(T x) {
    return x * static_cast<T>(180.0 / std::numbers::pi);
  }
};
struct Radians {
  template <class T>
  static HWY_INLINE T of(T x) {
    return x * static_cast<T>(std::numbers::pi / 180.0);
  }
};

std::vector<UfuncRow> trigonometry() {
  return {
      {"sin", "the sine", {1, vector_rows_and_complex<Sin>()}},
      {"cos", "the cosine", {1, vector_rows_and_complex<Cos>()}},
      {"tan", "the tangent", {1, vector_rows_and_complex<Tan>()}},
      {"arcsin", "the inverse sine", {1, vector_rows_and_complex<Arcsin>()}},
      {"arccos", "the inverse cosine", {1, vector_rows_and_complex<Arccos>()}},
      {"arctan", "the inverse tangent", {1, vector_rows_and_complex<Arctan>()}},
      {"sinh", "the hyperbolic sine", {1, vector_rows_and_complex<Sinh>()}},
      {"cosh", "the hyperbolic cosine", {1, vector_rows_and_complex<Cosh>()}},
      {"tanh", "the hyperbolic tangent", {1, vector_rows_and_complex<Tanh>()}},
      {"arcsinh", "the inverse hyperbolic sine", {1, vector_rows_and_complex<Arcsinh>()}},
      {"arccosh", "the inverse hyperbolic cosine", {1, vector_rows_and_complex<Arccosh>()}},
      {"arctanh", "the inverse hyperbolic tangent", {1, vector_rows_and_complex<Arctanh>()}},
      {"arctan2", "the angle of the point (x2, x1)", {2, vector_rows2<Arctan2>()}},
      {"hypot", "the length of the vector (x1, x2)", {2, vector_rows2<Hypot>()}},
      {"degrees", "radians as degrees", {1, Rows().unary<Degrees>(kFloats)}},
      {"radians", "degrees as radians", {1, Rows().unary<Radians>(kFloats)}},
  };
}

}  // namespace muster::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster::engine {
namespace {
HWY_EXPORT(trigonometry);
}

void register_trigonometry(Registry& registry) {
  static const UfuncTable kTable(HWY_DYNAMIC_DISPATCH(trigonometry)());
  kTable.add_to(registry);
}

}  // namespace muster::engine
#endif
