#include "muster/engine/ops/special/special.h"

#include <array>
#include <cmath>
#include <limits>

#include "muster/engine/kernels/ufunc.h"
#include "muster/engine/ops/elementwise/elementwise.h"

namespace muster::engine {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Computed in double, as SciPy does.
template <class T, auto F>
LoopRow unary() {
  return {{kTypeOf<T>}, kTypeOf<T>, [](const std::byte* const* in, std::byte* out, std::size_t n) {
            const auto* const x = reinterpret_cast<const T*>(in[0]);
            auto* const y = reinterpret_cast<T*>(out);
            for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(F(x[i]));
          }};
}

template <class T, auto F>
LoopRow binary() {
  return {{kTypeOf<T>, kTypeOf<T>},
          kTypeOf<T>,
          [](const std::byte* const* in, std::byte* out, std::size_t n) {
            const auto* const x = reinterpret_cast<const T*>(in[0]);
            const auto* const y = reinterpret_cast<const T*>(in[1]);
            auto* const z = reinterpret_cast<T*>(out);
            for (std::size_t i = 0; i < n; ++i) z[i] = static_cast<T>(F(x[i], y[i]));
          }};
}

template <auto F>
const Ufunc& ufunc_of() {
  if constexpr (std::is_invocable_v<decltype(F), double>) {
    static const Ufunc kUfunc{1, {unary<float, F>(), unary<double, F>()}};
    return kUfunc;
  } else {
    static const Ufunc kUfunc{2, {binary<float, F>(), binary<double, F>()}};
    return kUfunc;
  }
}

double erf(double x) { return std::erf(x); }
double erfc(double x) { return std::erfc(x); }
double gamma(double x) { return std::tgamma(x); }
/// std::lgamma writes its sign to a global.
double gammaln(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}
double xlogy(double x, double y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log(y); }
double entr(double x) {
  if (std::isnan(x)) return x;
  return x > 0 ? -x * std::log(x) : x == 0 ? 0 : -kInfinity;
}
double rel_entr(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  if (x > 0 && y > 0) return x * std::log(x / y);
  return x == 0 && y >= 0 ? 0 : kInfinity;
}
double kl_div(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  if (x > 0 && y > 0) return x * std::log(x / y) - x + y;
  return x == 0 && y >= 0 ? y : kInfinity;
}

OperatorRow row(std::string_view name, std::string_view summary, const Ufunc& ufunc) {
  OperatorRow made = elementwise_row(name, summary, ufunc);
  made.family = Family::special;
  return made;
}

}  // namespace

void register_special(Registry& registry) {
  static const std::array<OperatorRow, 8> kRows = {
      row("special.erf", "the error function", ufunc_of<erf>()),
      row("special.erfc", "1 - erf(x)", ufunc_of<erfc>()),
      row("special.gamma", "the gamma function", ufunc_of<gamma>()),
      row("special.gammaln", "log |gamma(x)|", ufunc_of<gammaln>()),
      row("special.xlogy", "x log y, 0 for x = 0", ufunc_of<xlogy>()),
      row("special.entr", "-x log x", ufunc_of<entr>()),
      row("special.rel_entr", "x log(x / y)", ufunc_of<rel_entr>()),
      row("special.kl_div", "x log(x / y) - x + y", ufunc_of<kl_div>()),
  };
  for (const OperatorRow& each : kRows) registry.add(each);
}

}  // namespace muster::engine
