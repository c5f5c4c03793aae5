"""Element-wise functions, with NumPy's names and rules. `out` makes another tensor stand for the
result; `where` computes only where it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from muster.tensor import _elementwise
from muster.tensor._call import apply, as_tensor, operands
from muster.tensor._elementwise import store
from muster.tensor._tensor import Tensor

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "around",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clip",
    "conj",
    "conjugate",
    "copysign",
    "copyto",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "divmod",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fix",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "greater",
    "greater_equal",
    "hypot",
    "i0",
    "imag",
    "invert",
    "isclose",
    "iscomplex",
    "isfinite",
    "isinf",
    "isnan",
    "isnat",
    "isreal",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "modf",
    "multiply",
    "nan_to_num",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "power",
    "rad2deg",
    "radians",
    "real",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "round",
    "round_",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "tree_add",
    "tree_multiply",
    "true_divide",
    "trunc",
    "where",
]


class Ufunc:
    """An element-wise function of tensors, arrays and numbers."""

    def __init__(self, name: str, inputs: int, summary: str) -> None:
        self.__name__ = name
        self.__doc__ = summary
        self.nin = inputs
        self.nout = 1

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __call__(
        self,
        *arguments: Any,
        out: Any = None,
        where: Any = True,
        casting: str = "same_kind",
        dtype: Any = None,
    ) -> Tensor:
        if len(arguments) == self.nin + 1 and out is None:
            *arguments, out = arguments  # type: ignore[assignment]
        if len(arguments) != self.nin:
            raise TypeError(f"{self.__name__}() takes {self.nin} inputs, not {len(arguments)}")
        return _elementwise.call(
            self.__name__, *arguments, out=out, where=where, casting=casting, dtype=dtype
        )


add = Ufunc("add", 2, "`x1 + x2`.")
subtract = Ufunc("subtract", 2, "`x1 - x2`.")
multiply = Ufunc("multiply", 2, "`x1 * x2`.")
divide = Ufunc("divide", 2, "`x1 / x2`.")
true_divide = divide
floor_divide = Ufunc("floor_divide", 2, "X1 / x2, rounded down.")
remainder = Ufunc("remainder", 2, "What floor_divide leaves, with the sign of x2.")
mod = remainder
fmod = Ufunc("fmod", 2, "What division leaves, with the sign of x1.")
float_power = Ufunc("float_power", 2, "X1 to the power x2, in double precision at least.")
arctan2 = Ufunc("arctan2", 2, "The angle of the point (x2, x1).")
atan2 = arctan2
hypot = Ufunc("hypot", 2, "The length of the vector (x1, x2).")
logaddexp = Ufunc("logaddexp", 2, "`log(exp(x1) + exp(x2))`.")
logaddexp2 = Ufunc("logaddexp2", 2, "`log2(2**x1 + 2**x2)`.")
equal = Ufunc("equal", 2, "`x1 == x2`.")
not_equal = Ufunc("not_equal", 2, "`x1 != x2`.")
less = Ufunc("less", 2, "`x1 < x2`.")
less_equal = Ufunc("less_equal", 2, "`x1 <= x2`.")
greater = Ufunc("greater", 2, "`x1 > x2`.")
greater_equal = Ufunc("greater_equal", 2, "`x1 >= x2`.")
maximum = Ufunc("maximum", 2, "The larger one; NaN if either is.")
minimum = Ufunc("minimum", 2, "The smaller one; NaN if either is.")
fmax = Ufunc("fmax", 2, "The larger one; NaN only if both are.")
fmin = Ufunc("fmin", 2, "The smaller one; NaN only if both are.")
logical_and = Ufunc("logical_and", 2, "Whether both are not zero.")
logical_or = Ufunc("logical_or", 2, "Whether one is not zero.")
logical_xor = Ufunc("logical_xor", 2, "Whether just one is not zero.")
bitwise_and = Ufunc("bitwise_and", 2, "`x1 & x2`.")
bitwise_or = Ufunc("bitwise_or", 2, "`x1 | x2`.")
bitwise_xor = Ufunc("bitwise_xor", 2, "`x1 ^ x2`.")
left_shift = Ufunc("left_shift", 2, "`x1 << x2`.")
bitwise_left_shift = left_shift
right_shift = Ufunc("right_shift", 2, "`x1 >> x2`.")
bitwise_right_shift = right_shift
copysign = Ufunc("copysign", 2, "`x1 with the sign of x2`.")
nextafter = Ufunc("nextafter", 2, "The number after x1 towards x2.")
negative = Ufunc("negative", 1, "`-x`.")
absolute = Ufunc("absolute", 1, "The distance from zero.")
abs = absolute  # noqa: A001
fabs = Ufunc("fabs", 1, "The distance from zero, of floats.")
sign = Ufunc("sign", 1, "-1, 0 or 1.")
square = Ufunc("square", 1, "`x * x`.")
reciprocal = Ufunc("reciprocal", 1, "1 / x.")
positive = Ufunc("positive", 1, "+x.")
conjugate = Ufunc("conjugate", 1, "The complex conjugate.")
conj = conjugate
exp = Ufunc("exp", 1, "E to the power x.")
exp2 = Ufunc("exp2", 1, "2 to the power x.")
expm1 = Ufunc("expm1", 1, "Exp(x) - 1, exact near zero.")
log = Ufunc("log", 1, "The natural logarithm.")
log2 = Ufunc("log2", 1, "The logarithm to base 2.")
log10 = Ufunc("log10", 1, "The logarithm to base 10.")
log1p = Ufunc("log1p", 1, "Log(1 + x), exact near zero.")
sqrt = Ufunc("sqrt", 1, "The square root.")
cbrt = Ufunc("cbrt", 1, "The cube root.")
sin = Ufunc("sin", 1, "The sine.")
cos = Ufunc("cos", 1, "The cosine.")
tan = Ufunc("tan", 1, "The tangent.")
arcsin = Ufunc("arcsin", 1, "The inverse sine.")
asin = arcsin
arccos = Ufunc("arccos", 1, "The inverse cosine.")
acos = arccos
arctan = Ufunc("arctan", 1, "The inverse tangent.")
atan = arctan
sinh = Ufunc("sinh", 1, "The hyperbolic sine.")
cosh = Ufunc("cosh", 1, "The hyperbolic cosine.")
tanh = Ufunc("tanh", 1, "The hyperbolic tangent.")
arcsinh = Ufunc("arcsinh", 1, "The inverse hyperbolic sine.")
asinh = arcsinh
arccosh = Ufunc("arccosh", 1, "The inverse hyperbolic cosine.")
acosh = arccosh
arctanh = Ufunc("arctanh", 1, "The inverse hyperbolic tangent.")
atanh = arctanh
degrees = Ufunc("degrees", 1, "Radians as degrees.")
rad2deg = degrees
radians = Ufunc("radians", 1, "Degrees as radians.")
deg2rad = radians
floor = Ufunc("floor", 1, "The largest whole number below.")
ceil = Ufunc("ceil", 1, "The smallest whole number above.")
trunc = Ufunc("trunc", 1, "The whole part.")
rint = Ufunc("rint", 1, "The nearest whole number.")
isnan = Ufunc("isnan", 1, "Whether it is no number.")
isinf = Ufunc("isinf", 1, "Whether it is infinite.")
isfinite = Ufunc("isfinite", 1, "Whether it is neither infinite nor NaN.")
isnat = Ufunc("isnat", 1, "Whether it is no time.")
signbit = Ufunc("signbit", 1, "Whether the sign is set.")
spacing = Ufunc("spacing", 1, "The distance to the next number.")
logical_not = Ufunc("logical_not", 1, "Whether it is zero.")
invert = Ufunc("invert", 1, "`~x`.")
bitwise_not = invert


class _Power(Ufunc):
    def __call__(
        self,
        *arguments: Any,
        out: Any = None,
        where: Any = True,
        casting: str = "same_kind",
        dtype: Any = None,
    ) -> Tensor:
        if len(arguments) == 2 and dtype is None:
            result = _elementwise.power(*arguments)
            return result if out is None and where is True else store("power", result, out, where)
        return super().__call__(*arguments, out=out, where=where, casting=casting, dtype=dtype)


power = _Power("power", 2, "x1 to the power x2.")
pow = power  # noqa: A001


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`x` where the condition holds, else `y`; with the condition alone, the indices where it
    holds."""
    if x is None and y is None:
        from muster.tensor import nonzero

        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("[where] takes the condition alone, or both x and y")
    mask = as_tensor(condition)
    if mask.dtype != np.bool_:
        mask = mask.astype(bool)
    return apply("where", [mask, *operands(x, y)])


def copyto(dst: Tensor, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Makes `dst` stand for `src`, where `where` holds."""
    source = operands(dst, src)[1]
    store("copyto", source, dst, where, casting)


def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None) -> Tensor:
    """Not below `a_min` and not above `a_max`; None leaves an end open."""
    if a_min is None and a_max is None:
        result = as_tensor(a)
    elif a_min is None:
        result = apply("minimum", operands(a, a_max))
    elif a_max is None:
        result = apply("maximum", operands(a, a_min))
    else:
        result = apply("clip", operands(a, a_min, a_max))
    return store("clip", result, out)


def around(a: Any, decimals: int = 0, out: Any = None) -> Tensor:
    """Rounded to `decimals` places after the point, before it if negative; halves to the even."""
    return store("around", apply("around", [as_tensor(a)], decimals=int(decimals)), out)


round = around  # noqa: A001
round_ = around


def fix(x: Any, out: Any = None) -> Tensor:
    """Rounded towards zero."""
    return store("fix", apply("fix", [as_tensor(x)]), out)


def nan_to_num(
    x: Any,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """NaN and infinities replaced by numbers, infinities by the largest there are unless given;
    `copy=False` makes `x` itself stand for the result."""
    limits = {
        name: None if value is None else float(value)
        for name, value in (("posinf", posinf), ("neginf", neginf))
    }
    result = apply("nan_to_num", [as_tensor(x)], nan=float(nan), **limits)
    return result if copy else store("nan_to_num", result, x)


def isclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether two differ by at most `atol + rtol * abs(b)`."""
    return apply(
        "isclose", operands(a, b), rtol=float(rtol), atol=float(atol), equal_nan=bool(equal_nan)
    )


def real(val: Any) -> Tensor:
    """The real part."""
    return apply("real", [as_tensor(val)])


def imag(val: Any) -> Tensor:
    """The imaginary part."""
    return apply("imag", [as_tensor(val)])


def angle(z: Any, deg: bool = False) -> Tensor:
    """The angle in the complex plane, in radians unless `deg`."""
    result = apply("angle", [as_tensor(z)])
    return degrees(result) if deg else result


def isreal(x: Any) -> Tensor:
    """Whether the imaginary part is zero."""
    return apply("isreal", [as_tensor(x)])


def iscomplex(x: Any) -> Tensor:
    """Whether the imaginary part is not zero."""
    return apply("iscomplex", [as_tensor(x)])


def i0(x: Any) -> Tensor:
    """The modified Bessel function of the first kind, of order zero."""
    return apply("i0", [as_tensor(x)])


def sinc(x: Any) -> Tensor:
    """`sin(pi x) / (pi x)`."""
    return apply("sinc", [as_tensor(x)])


def ldexp(x1: Any, x2: Any, out: Any = None, where: Any = True) -> Tensor:
    """`x1 * 2**x2`."""
    return store("ldexp", apply("ldexp", [as_tensor(x1), as_tensor(x2)]), out, where)


def frexp(x: Any, out: Any = (None, None), where: Any = True) -> tuple[Tensor, Tensor]:
    """Mantissas and exponents: `x == mantissa * 2**exponent`."""
    value = as_tensor(x)
    return (
        store("frexp", apply("frexp_mantissa", [value]), out[0], where),
        store("frexp", apply("frexp_exponent", [value]), out[1], where),
    )


def modf(x: Any, out: Any = (None, None), where: Any = True) -> tuple[Tensor, Tensor]:
    """Fractions and whole parts, both with the sign of `x`."""
    value = as_tensor(x)
    return (
        store("modf", apply("modf_fraction", [value]), out[0], where),
        store("modf", apply("modf_whole", [value]), out[1], where),
    )


def divmod(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:  # noqa: A001
    """`floor_divide` and `remainder`."""
    return floor_divide(x1, x2), remainder(x1, x2)


def tree_add(*arguments: Any) -> Tensor:
    """The sum of many tensors, added two by two; they may be given as one sequence."""
    return apply("tree_add", operands(*_terms(arguments)))


def tree_multiply(*arguments: Any) -> Tensor:
    """The product of many tensors, multiplied two by two; they may be given as one sequence."""
    return apply("tree_multiply", operands(*_terms(arguments)))


def _terms(arguments: Sequence[Any]) -> Sequence[Any]:
    if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)):
        return arguments[0]
    return arguments
