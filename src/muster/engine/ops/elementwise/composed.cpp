#include "muster/engine/ops/elementwise/composed.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/elementwise/ufunc_row.h"

namespace muster::engine {

namespace {

Tensor number(double value, DType dtype) { return constant(Scalar(value).cast(dtype)); }

/// The float that functions of floats compute integers in.
DType inexact(DType dtype) {
  if (is_inexact(dtype.type)) return dtype;
  return promote(dtype, DType(Type::f64)).value_or(dtype);
}

Tensor cast(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : apply_one("astype", {x}, {{"dtype", dtype}});
}

void expect(const Call& call, std::size_t inputs) {
  if (call.inputs.size() != inputs)
    wrong_type(fmt::format("{}takes {} inputs, not {}", call.prefix(), inputs, call.inputs.size()));
}

std::vector<Tensor> expand_clip(const Call& call) {
  expect(call, 3);
  const Tensor raised = apply_one("maximum", {call.inputs[0], call.inputs[1]});
  return {apply_one("minimum", {raised, call.inputs[2]})};
}

std::vector<Tensor> expand_around(const Call& call) {
  expect(call, 1);
  const Tensor& x = call.inputs.front();
  const DType dtype = x.dtype();
  const auto decimals = call.attributes.get<std::int64_t>("decimals", 0);
  const bool whole = !is_inexact(dtype.type);
  if (whole && decimals >= 0) return {x};
  if (decimals == 0) return {apply_one("rint", {x})};
  const DType within = inexact(dtype);
  const Tensor scale = number(std::pow(10.0, std::abs(static_cast<double>(decimals))), within);
  const char* const there = decimals > 0 ? "multiply" : "divide";
  const char* const back = decimals > 0 ? "divide" : "multiply";
  const Tensor scaled = apply_one("rint", {apply_one(there, {x, scale})});
  return {cast(apply_one(back, {scaled, scale}), dtype)};
}

/// Of a real tensor.
Tensor finite_numbers(const Tensor& x, const Attributes& attributes) {
  const DType dtype = x.dtype();
  double most = std::numeric_limits<double>::max();
  if (dtype.type == Type::f32) most = static_cast<double>(std::numeric_limits<float>::max());
  if (dtype.type == Type::f16) most = 65504.0;
  const auto replace = [&](const Tensor& in, const Tensor& where, double by) {
    return apply_one("where", {where, number(by, dtype), in});
  };
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor out = replace(x, apply_one("isnan", {x}), attributes.get<double>("nan", 0.0));
  out = replace(out, apply_one("equal", {x, number(infinity, dtype)}),
                attributes.get<double>("posinf", most));
  return replace(out, apply_one("equal", {x, number(-infinity, dtype)}),
                 attributes.get<double>("neginf", -most));
}

std::vector<Tensor> expand_nan_to_num(const Call& call) {
  expect(call, 1);
  const Tensor& x = call.inputs.front();
  if (!is_inexact(x.dtype().type)) return {x};
  if (!is_complex(x.dtype().type)) return {finite_numbers(x, call.attributes)};
  const Tensor real = finite_numbers(apply_one("real", {x}), call.attributes);
  const Tensor imag = finite_numbers(apply_one("imag", {x}), call.attributes);
  const Tensor i = constant(Scalar(std::complex<double>(0, 1)).cast(x.dtype()));
  return {apply_one("add", {real, apply_one("multiply", {imag, i})})};
}

std::vector<Tensor> expand_isclose(const Call& call) {
  expect(call, 2);
  const Tensor& x = call.inputs[0];
  const Tensor y = cast(call.inputs[1], inexact(call.inputs[1].dtype()));
  const DType real(is_complex(y.dtype().type) ? real_type(y.dtype().type) : y.dtype().type,
                   y.dtype().unit);
  const Tensor atol = number(call.attributes.get<double>("atol", 1e-8), real);
  const Tensor rtol = number(call.attributes.get<double>("rtol", 1e-5), real);
  const Tensor apart = apply_one("absolute", {apply_one("subtract", {x, y})});
  const Tensor allowed =
      apply_one("add", {atol, apply_one("multiply", {rtol, apply_one("absolute", {y})})});
  const Tensor near = apply_one(
      "logical_and", {apply_one("less_equal", {apart, allowed}), apply_one("isfinite", {y})});
  Tensor out = apply_one("logical_or", {near, apply_one("equal", {x, y})});
  if (call.attributes.get<bool>("equal_nan", false)) {
    const Tensor none =
        apply_one("logical_and", {apply_one("isnan", {x}), apply_one("isnan", {y})});
    out = apply_one("logical_or", {out, none});
  }
  return {out};
}

std::vector<Tensor> expand_sinc(const Call& call) {
  expect(call, 1);
  const Tensor x = cast(call.inputs.front(), inexact(call.inputs.front().dtype()));
  // Half floats have no number that small but zero; they have their smallest instead.
  const double tiny = x.dtype().type == Type::f16 ? 0x1p-24 : 1e-20;
  const Tensor nonzero = apply_one(
      "where", {apply_one("equal", {x, number(0, x.dtype())}), number(tiny, x.dtype()), x});
  const Tensor angle = apply_one("multiply", {nonzero, number(std::numbers::pi, x.dtype())});
  return {apply_one("divide", {apply_one("sin", {angle}), angle})};
}

/// Two by two, then the results two by two: short chains, and errors that grow slowly.
std::vector<Tensor> in_pairs(const Call& call, const char* function) {
  std::vector<Tensor> left = call.inputs.all();
  if (left.empty()) wrong_type(call.prefix() + "needs at least one input");
  while (left.size() > 1) {
    std::vector<Tensor> next;
    for (std::size_t i = 0; i + 1 < left.size(); i += 2)
      next.push_back(apply_one(function, {left[i], left[i + 1]}));
    if (left.size() % 2 == 1) next.push_back(left.back());
    left = std::move(next);
  }
  return left;
}

// Chebyshev coefficients of exp(-|x|) I0(x) up to 8, and of exp(-x) sqrt(x) I0(x) beyond (Cephes).
constexpr double kI0Near[] = {
    -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15,
    -1.1685332877993451e-14, 7.676185498604936e-14,  -4.856446783111929e-13, 2.95505266312964e-12,
    -1.726826291441556e-11,  9.675809035373237e-11,  -5.189795601635263e-10, 2.6598237246823866e-09,
    -1.300025009986248e-08,  6.046995022541919e-08,  -2.670793853940612e-07, 1.1173875391201037e-06,
    -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05, 0.00018850288509584165,
    -0.0005763755745385824,  0.0016394756169413357,  -0.004324309995050576,  0.010546460394594998,
    -0.02373741480589947,    0.04930528423967071,    -0.09490109704804764,   0.17162090152220877,
    -0.3046826723431984,     0.6767952744094761};
constexpr double kI0Far[] = {
    -7.233180487874754e-18,  -4.830504485944182e-18,  4.46562142029676e-17,
    3.461222867697461e-17,   -2.8276239805165836e-16, -3.425485619677219e-16,
    1.7725601330565263e-15,  3.8116806693526224e-15,  -9.554846698828307e-15,
    -4.150569347287222e-14,  1.54008621752141e-14,    3.8527783827421426e-13,
    7.180124451383666e-13,   -1.7941785315068062e-12, -1.3215811840447713e-11,
    -3.1499165279632416e-11, 1.1889147107846439e-11,  4.94060238822497e-10,
    3.3962320257083865e-09,  2.266668990498178e-08,   2.0489185894690638e-07,
    2.8913705208347567e-06,  6.889758346916825e-05,   0.0033691164782556943,
    0.8044904110141088};

template <std::size_t N>
double chebyshev(double x, const double (&coefficients)[N]) {
  double b0 = coefficients[0];
  double b1 = 0;
  double b2 = 0;
  for (std::size_t i = 1; i < N; ++i) {
    b2 = b1;
    b1 = b0;
    b0 = x * b1 - b2 + coefficients[i];
  }
  return 0.5 * (b0 - b2);
}

double i0_of(double value) {
  const double x = std::abs(value);
  if (x <= 8) return std::exp(x) * chebyshev(x / 2 - 2, kI0Near);
  return std::exp(x) * chebyshev(32 / x - 2, kI0Far) / std::sqrt(x);
}

template <class T>
void i0_items(const std::byte* const* in, std::byte* out, std::size_t count) {
  const auto* const x = reinterpret_cast<const T*>(in[0]);
  auto* const to = reinterpret_cast<T*>(out);
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<T>(i0_of(static_cast<double>(x[i])));
}

constexpr OperatorRow composed(std::string_view name, std::string_view summary,
                               std::vector<Tensor> (*expand)(const Call&)) {
  return {.name = name, .summary = summary, .family = Family::elementwise, .expand = expand};
}

constexpr OperatorRow kRows[] = {
    composed("clip", "not below x2 and not above x3", expand_clip),
    composed("around", "rounded to a number of decimals", expand_around),
    composed("nan_to_num", "NaN and infinities replaced by numbers", expand_nan_to_num),
    composed("isclose", "whether they differ by less than a tolerance", expand_isclose),
    composed("fix", "rounded towards zero",
             [](const Call& call) { return engine::apply("trunc", call.inputs.all()); }),
    composed("sinc", "sin(pi x) / (pi x)", expand_sinc),
    composed("tree_add", "the sum of many tensors, two by two",
             [](const Call& call) { return in_pairs(call, "add"); }),
    composed("tree_multiply", "the product of many tensors, two by two",
             [](const Call& call) { return in_pairs(call, "multiply"); }),
};

}  // namespace

void register_composed(Registry& registry) {
  for (const OperatorRow& row : kRows) registry.add(row);
  static const UfuncTable kTable({
      {"i0",
       "the modified Bessel function of order zero",
       {1,
        {{{Type::f32}, Type::f32, i0_items<float>}, {{Type::f64}, Type::f64, i0_items<double>}}}},
      {"rescale_times", "times in another unit; made by conversions", rescale_ufunc()},
  });
  kTable.add_to(registry);
}

Tensor clip(const Tensor& x, const Tensor& low, const Tensor& high) {
  return apply_one("clip", {x, low, high});
}
Tensor around(const Tensor& x, int decimals) {
  return apply_one("around", {x}, {{"decimals", std::int64_t{decimals}}});
}
Tensor isclose(const Tensor& x, const Tensor& y, double rtol, double atol, bool equal_nan) {
  return apply_one("isclose", {x, y}, {{"rtol", rtol}, {"atol", atol}, {"equal_nan", equal_nan}});
}

}  // namespace muster::engine
