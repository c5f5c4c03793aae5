#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/elementwise/operand.h"

// The element-wise functions of the registry by their names, and C++'s operators. Numbers may stand
// where tensors do.
namespace muster::engine {

[[nodiscard]] inline Tensor add(const Operand& x, const Operand& y) {
  return elementwise("add", {x, y});
}
[[nodiscard]] inline Tensor subtract(const Operand& x, const Operand& y) {
  return elementwise("subtract", {x, y});
}
[[nodiscard]] inline Tensor multiply(const Operand& x, const Operand& y) {
  return elementwise("multiply", {x, y});
}
[[nodiscard]] inline Tensor divide(const Operand& x, const Operand& y) {
  return elementwise("divide", {x, y});
}
[[nodiscard]] inline Tensor floor_divide(const Operand& x, const Operand& y) {
  return elementwise("floor_divide", {x, y});
}
[[nodiscard]] inline Tensor remainder(const Operand& x, const Operand& y) {
  return elementwise("remainder", {x, y});
}
[[nodiscard]] inline Tensor fmod(const Operand& x, const Operand& y) {
  return elementwise("fmod", {x, y});
}
[[nodiscard]] inline Tensor float_power(const Operand& x, const Operand& y) {
  return elementwise("float_power", {x, y});
}
[[nodiscard]] inline Tensor arctan2(const Operand& x, const Operand& y) {
  return elementwise("arctan2", {x, y});
}
[[nodiscard]] inline Tensor hypot(const Operand& x, const Operand& y) {
  return elementwise("hypot", {x, y});
}
[[nodiscard]] inline Tensor logaddexp(const Operand& x, const Operand& y) {
  return elementwise("logaddexp", {x, y});
}
[[nodiscard]] inline Tensor logaddexp2(const Operand& x, const Operand& y) {
  return elementwise("logaddexp2", {x, y});
}
[[nodiscard]] inline Tensor equal(const Operand& x, const Operand& y) {
  return elementwise("equal", {x, y});
}
[[nodiscard]] inline Tensor not_equal(const Operand& x, const Operand& y) {
  return elementwise("not_equal", {x, y});
}
[[nodiscard]] inline Tensor less(const Operand& x, const Operand& y) {
  return elementwise("less", {x, y});
}
[[nodiscard]] inline Tensor less_equal(const Operand& x, const Operand& y) {
  return elementwise("less_equal", {x, y});
}
[[nodiscard]] inline Tensor greater(const Operand& x, const Operand& y) {
  return elementwise("greater", {x, y});
}
[[nodiscard]] inline Tensor greater_equal(const Operand& x, const Operand& y) {
  return elementwise("greater_equal", {x, y});
}
[[nodiscard]] inline Tensor maximum(const Operand& x, const Operand& y) {
  return elementwise("maximum", {x, y});
}
[[nodiscard]] inline Tensor minimum(const Operand& x, const Operand& y) {
  return elementwise("minimum", {x, y});
}
[[nodiscard]] inline Tensor fmax(const Operand& x, const Operand& y) {
  return elementwise("fmax", {x, y});
}
[[nodiscard]] inline Tensor fmin(const Operand& x, const Operand& y) {
  return elementwise("fmin", {x, y});
}
[[nodiscard]] inline Tensor logical_and(const Operand& x, const Operand& y) {
  return elementwise("logical_and", {x, y});
}
[[nodiscard]] inline Tensor logical_or(const Operand& x, const Operand& y) {
  return elementwise("logical_or", {x, y});
}
[[nodiscard]] inline Tensor logical_xor(const Operand& x, const Operand& y) {
  return elementwise("logical_xor", {x, y});
}
[[nodiscard]] inline Tensor bitwise_and(const Operand& x, const Operand& y) {
  return elementwise("bitwise_and", {x, y});
}
[[nodiscard]] inline Tensor bitwise_or(const Operand& x, const Operand& y) {
  return elementwise("bitwise_or", {x, y});
}
[[nodiscard]] inline Tensor bitwise_xor(const Operand& x, const Operand& y) {
  return elementwise("bitwise_xor", {x, y});
}
[[nodiscard]] inline Tensor left_shift(const Operand& x, const Operand& y) {
  return elementwise("left_shift", {x, y});
}
[[nodiscard]] inline Tensor right_shift(const Operand& x, const Operand& y) {
  return elementwise("right_shift", {x, y});
}
[[nodiscard]] inline Tensor copysign(const Operand& x, const Operand& y) {
  return elementwise("copysign", {x, y});
}
[[nodiscard]] inline Tensor nextafter(const Operand& x, const Operand& y) {
  return elementwise("nextafter", {x, y});
}
[[nodiscard]] inline Tensor ldexp(const Operand& x, const Operand& y) {
  return elementwise("ldexp", {x, y});
}

/// x to the power y; squares, roots and reciprocals take the short way.
[[nodiscard]] Tensor power(const Operand& x, const Operand& y);

[[nodiscard]] inline Tensor absolute(const Tensor& x) { return apply_one("absolute", {x}); }
[[nodiscard]] inline Tensor fabs(const Tensor& x) { return apply_one("fabs", {x}); }
[[nodiscard]] inline Tensor sign(const Tensor& x) { return apply_one("sign", {x}); }
[[nodiscard]] inline Tensor square(const Tensor& x) { return apply_one("square", {x}); }
[[nodiscard]] inline Tensor reciprocal(const Tensor& x) { return apply_one("reciprocal", {x}); }
[[nodiscard]] inline Tensor conjugate(const Tensor& x) { return apply_one("conjugate", {x}); }
[[nodiscard]] inline Tensor exp(const Tensor& x) { return apply_one("exp", {x}); }
[[nodiscard]] inline Tensor exp2(const Tensor& x) { return apply_one("exp2", {x}); }
[[nodiscard]] inline Tensor expm1(const Tensor& x) { return apply_one("expm1", {x}); }
[[nodiscard]] inline Tensor log(const Tensor& x) { return apply_one("log", {x}); }
[[nodiscard]] inline Tensor log2(const Tensor& x) { return apply_one("log2", {x}); }
[[nodiscard]] inline Tensor log10(const Tensor& x) { return apply_one("log10", {x}); }
[[nodiscard]] inline Tensor log1p(const Tensor& x) { return apply_one("log1p", {x}); }
[[nodiscard]] inline Tensor sqrt(const Tensor& x) { return apply_one("sqrt", {x}); }
[[nodiscard]] inline Tensor cbrt(const Tensor& x) { return apply_one("cbrt", {x}); }
[[nodiscard]] inline Tensor sin(const Tensor& x) { return apply_one("sin", {x}); }
[[nodiscard]] inline Tensor cos(const Tensor& x) { return apply_one("cos", {x}); }
[[nodiscard]] inline Tensor tan(const Tensor& x) { return apply_one("tan", {x}); }
[[nodiscard]] inline Tensor arcsin(const Tensor& x) { return apply_one("arcsin", {x}); }
[[nodiscard]] inline Tensor arccos(const Tensor& x) { return apply_one("arccos", {x}); }
[[nodiscard]] inline Tensor arctan(const Tensor& x) { return apply_one("arctan", {x}); }
[[nodiscard]] inline Tensor sinh(const Tensor& x) { return apply_one("sinh", {x}); }
[[nodiscard]] inline Tensor cosh(const Tensor& x) { return apply_one("cosh", {x}); }
[[nodiscard]] inline Tensor tanh(const Tensor& x) { return apply_one("tanh", {x}); }
[[nodiscard]] inline Tensor arcsinh(const Tensor& x) { return apply_one("arcsinh", {x}); }
[[nodiscard]] inline Tensor arccosh(const Tensor& x) { return apply_one("arccosh", {x}); }
[[nodiscard]] inline Tensor arctanh(const Tensor& x) { return apply_one("arctanh", {x}); }
[[nodiscard]] inline Tensor degrees(const Tensor& x) { return apply_one("degrees", {x}); }
[[nodiscard]] inline Tensor radians(const Tensor& x) { return apply_one("radians", {x}); }
[[nodiscard]] inline Tensor floor(const Tensor& x) { return apply_one("floor", {x}); }
[[nodiscard]] inline Tensor ceil(const Tensor& x) { return apply_one("ceil", {x}); }
[[nodiscard]] inline Tensor trunc(const Tensor& x) { return apply_one("trunc", {x}); }
[[nodiscard]] inline Tensor rint(const Tensor& x) { return apply_one("rint", {x}); }
[[nodiscard]] inline Tensor isnan(const Tensor& x) { return apply_one("isnan", {x}); }
[[nodiscard]] inline Tensor isinf(const Tensor& x) { return apply_one("isinf", {x}); }
[[nodiscard]] inline Tensor isfinite(const Tensor& x) { return apply_one("isfinite", {x}); }
[[nodiscard]] inline Tensor isnat(const Tensor& x) { return apply_one("isnat", {x}); }
[[nodiscard]] inline Tensor signbit(const Tensor& x) { return apply_one("signbit", {x}); }
[[nodiscard]] inline Tensor spacing(const Tensor& x) { return apply_one("spacing", {x}); }
[[nodiscard]] inline Tensor logical_not(const Tensor& x) { return apply_one("logical_not", {x}); }
[[nodiscard]] inline Tensor invert(const Tensor& x) { return apply_one("invert", {x}); }
[[nodiscard]] inline Tensor real(const Tensor& x) { return apply_one("real", {x}); }
[[nodiscard]] inline Tensor imag(const Tensor& x) { return apply_one("imag", {x}); }
[[nodiscard]] inline Tensor angle(const Tensor& x) { return apply_one("angle", {x}); }
[[nodiscard]] inline Tensor isreal(const Tensor& x) { return apply_one("isreal", {x}); }
[[nodiscard]] inline Tensor iscomplex(const Tensor& x) { return apply_one("iscomplex", {x}); }
[[nodiscard]] inline Tensor i0(const Tensor& x) { return apply_one("i0", {x}); }
[[nodiscard]] inline Tensor negative(const Tensor& x) { return apply_one("negative", {x}); }
[[nodiscard]] inline Tensor positive(const Tensor& x) { return apply_one("positive", {x}); }
[[nodiscard]] inline Tensor nan_to_num(const Tensor& x) { return apply_one("nan_to_num", {x}); }
[[nodiscard]] inline Tensor fix(const Tensor& x) { return apply_one("fix", {x}); }
[[nodiscard]] inline Tensor sinc(const Tensor& x) { return apply_one("sinc", {x}); }
[[nodiscard]] inline Tensor frexp_mantissa(const Tensor& x) {
  return apply_one("frexp_mantissa", {x});
}
[[nodiscard]] inline Tensor frexp_exponent(const Tensor& x) {
  return apply_one("frexp_exponent", {x});
}
[[nodiscard]] inline Tensor modf_fraction(const Tensor& x) {
  return apply_one("modf_fraction", {x});
}
[[nodiscard]] inline Tensor modf_whole(const Tensor& x) { return apply_one("modf_whole", {x}); }

// Python's rules: `/` gives floats, `%` has the sign of the divisor. `==` says whether two handles
// are the same tensor; `equal` compares items.
[[nodiscard]] inline Tensor operator+(const Operand& x, const Operand& y) { return add(x, y); }
[[nodiscard]] inline Tensor operator-(const Operand& x, const Operand& y) { return subtract(x, y); }
[[nodiscard]] inline Tensor operator*(const Operand& x, const Operand& y) { return multiply(x, y); }
[[nodiscard]] inline Tensor operator/(const Operand& x, const Operand& y) { return divide(x, y); }
[[nodiscard]] inline Tensor operator%(const Operand& x, const Operand& y) {
  return remainder(x, y);
}
[[nodiscard]] inline Tensor operator&(const Operand& x, const Operand& y) {
  return bitwise_and(x, y);
}
[[nodiscard]] inline Tensor operator|(const Operand& x, const Operand& y) {
  return bitwise_or(x, y);
}
[[nodiscard]] inline Tensor operator^(const Operand& x, const Operand& y) {
  return bitwise_xor(x, y);
}
[[nodiscard]] inline Tensor operator<<(const Operand& x, const Operand& y) {
  return left_shift(x, y);
}
[[nodiscard]] inline Tensor operator>>(const Operand& x, const Operand& y) {
  return right_shift(x, y);
}
[[nodiscard]] inline Tensor operator<(const Operand& x, const Operand& y) { return less(x, y); }
[[nodiscard]] inline Tensor operator<=(const Operand& x, const Operand& y) {
  return less_equal(x, y);
}
[[nodiscard]] inline Tensor operator>(const Operand& x, const Operand& y) { return greater(x, y); }
[[nodiscard]] inline Tensor operator>=(const Operand& x, const Operand& y) {
  return greater_equal(x, y);
}
[[nodiscard]] inline Tensor operator-(const Tensor& x) { return negative(x); }
[[nodiscard]] inline Tensor operator+(const Tensor& x) { return positive(x); }
[[nodiscard]] inline Tensor operator~(const Tensor& x) { return invert(x); }
[[nodiscard]] inline Tensor operator!(const Tensor& x) { return logical_not(x); }
inline Tensor& operator+=(Tensor& x, const Operand& y) { return x = add(x, y); }
inline Tensor& operator-=(Tensor& x, const Operand& y) { return x = subtract(x, y); }
inline Tensor& operator*=(Tensor& x, const Operand& y) { return x = multiply(x, y); }
inline Tensor& operator/=(Tensor& x, const Operand& y) { return x = divide(x, y); }
inline Tensor& operator%=(Tensor& x, const Operand& y) { return x = remainder(x, y); }
inline Tensor& operator&=(Tensor& x, const Operand& y) { return x = bitwise_and(x, y); }
inline Tensor& operator|=(Tensor& x, const Operand& y) { return x = bitwise_or(x, y); }
inline Tensor& operator^=(Tensor& x, const Operand& y) { return x = bitwise_xor(x, y); }
inline Tensor& operator<<=(Tensor& x, const Operand& y) { return x = left_shift(x, y); }
inline Tensor& operator>>=(Tensor& x, const Operand& y) { return x = right_shift(x, y); }

}  // namespace muster::engine
