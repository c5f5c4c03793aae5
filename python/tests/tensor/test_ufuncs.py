"""Element-wise functions against NumPy, over dtypes, shapes and chunkings."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import muster.tensor as mt
from muster.tensor._call import constant

SEED = int(os.environ.get("MUSTER_TEST_SEED", "1"))
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
FLOATS = ["f2", "f4", "f8"]
COMPLEX = ["c8", "c16"]
ALL = ["?", *INTEGERS, *FLOATS, *COMPLEX]
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (7,), (1500,), (3, 0), (5, 6), (2, 3, 4, 3)]


def items(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Small and large numbers, and those that are special."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        small = rng.integers(max(info.min, -9), 10, shape).astype(kind)
        ends = np.array([info.min, info.max, 0, 1], kind)[rng.integers(0, 4, shape)]
        return np.where(rng.random(shape) < 0.2, ends, small).astype(kind)
    if kind.kind == "c":
        part = "f4" if dtype == "c8" else "f8"
        return (items(rng, part, shape) + 1j * items(rng, part, shape)).astype(kind)
    values = rng.normal(0, 3, shape)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])[rng.integers(0, 6, shape)]
    return np.where(rng.random(shape) < 0.15, special, values).astype(kind)


def tensor(array: np.ndarray[Any, Any], rng: np.random.Generator) -> mt.Tensor:
    many = rng.random() < 0.5 and array.ndim
    return constant(
        array, chunk_size=int(rng.integers(1, 5)) if many and array.size < 200 else None
    )


def assert_same(got: Any, want: Any, ulps: int = 0) -> None:
    got = got.to_numpy() if isinstance(got, mt.Tensor) else got
    want = np.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if want.dtype.kind in "fc" and ulps:
        parts = (
            [(got.real, want.real), (got.imag, want.imag)]
            if want.dtype.kind == "c"
            else [(got, want)]
        )
        eps = np.finfo(want.dtype).eps
        tiny = np.finfo(want.dtype).tiny
        scale = np.abs(want)
        for a, b in parts:
            finite = np.isfinite(b)
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
            np.testing.assert_array_equal(a[~finite & ~np.isnan(b)], b[~finite & ~np.isnan(b)])
            bound = np.asarray(ulps * eps * np.maximum(scale, np.abs(b)) + ulps * tiny)
            assert (np.abs(a - b)[finite] <= bound[finite]).all()
    else:
        np.testing.assert_array_equal(got, want)


UNARY = {
    "negative": INTEGERS + FLOATS + COMPLEX,
    "positive": INTEGERS + FLOATS + COMPLEX,
    "absolute": ["?", *INTEGERS, *FLOATS],
    "fabs": FLOATS + ["i4", "?"],
    "sign": INTEGERS + FLOATS,
    "square": INTEGERS + FLOATS,
    "reciprocal": FLOATS,
    "conjugate": INTEGERS + FLOATS + COMPLEX,
    "floor": ["?", *INTEGERS, *FLOATS],
    "ceil": ["?", *INTEGERS, *FLOATS],
    "trunc": ["?", *INTEGERS, *FLOATS],
    "rint": ["i1", "i4", *FLOATS, *COMPLEX],
    "sqrt": ["?", "i1", "u2", "i8", *FLOATS],
    "isnan": ALL,
    "isinf": ALL,
    "isfinite": ALL,
    "signbit": FLOATS + ["i4"],
    "spacing": FLOATS,
    "logical_not": ALL,
    "invert": ["?", *INTEGERS],
    "real": ALL,
    "imag": ALL,
    "isreal": ALL,
    "iscomplex": ALL,
    "fix": ["i4", *FLOATS],
}
BINARY = {
    "add": ALL,
    "subtract": INTEGERS + FLOATS + COMPLEX,
    "multiply": ["?", *INTEGERS, *FLOATS],
    "divide": ["?", *INTEGERS, *FLOATS],
    "floor_divide": INTEGERS + FLOATS,
    "remainder": INTEGERS + FLOATS,
    "fmod": INTEGERS + FLOATS,
    "equal": ALL,
    "not_equal": ALL,
    "less": ALL,
    "less_equal": ALL,
    "greater": ALL,
    "greater_equal": ALL,
    "maximum": ALL,
    "minimum": ALL,
    "fmax": ALL,
    "fmin": ALL,
    "logical_and": ALL,
    "logical_or": ALL,
    "logical_xor": ALL,
    "bitwise_and": ["?", *INTEGERS],
    "bitwise_or": ["?", *INTEGERS],
    "bitwise_xor": ["?", *INTEGERS],
    "left_shift": INTEGERS,
    "right_shift": INTEGERS,
    "copysign": FLOATS + ["i4"],
    "nextafter": FLOATS,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", UNARY)
def test_of_one_is_exact(name: str) -> None:
    print(f"MUSTER_TEST_SEED={SEED}")
    rng = np.random.default_rng(SEED)
    for dtype in UNARY[name]:
        shape = SHAPES[rng.integers(len(SHAPES))]
        x = items(rng, dtype, shape)
        assert_same(getattr(mt, name)(tensor(x, rng)), getattr(np, name)(x))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BINARY)
def test_of_two_is_exact(name: str) -> None:
    print(f"MUSTER_TEST_SEED={SEED}")
    rng = np.random.default_rng(SEED)
    kinds = BINARY[name]
    for dtype in kinds:
        other = kinds[rng.integers(len(kinds))] if rng.random() < 0.4 else dtype
        shape = SHAPES[rng.integers(len(SHAPES))]
        x, y = items(rng, dtype, shape), items(rng, other, shape if rng.random() < 0.7 else ())
        try:
            want = getattr(np, name)(x, y)
        except TypeError:
            with pytest.raises(TypeError, match=name):
                getattr(mt, name)(tensor(x, rng), tensor(y, rng))
            continue
        assert_same(getattr(mt, name)(tensor(x, rng), tensor(y, rng)), want)


@pytest.mark.parametrize("scale", [1.0, 0.01, 30.0])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name",
    [
        "sin",
        "cos",
        "tan",
        "arcsin",
        "arccos",
        "arctan",
        "sinh",
        "cosh",
        "tanh",
        "arcsinh",
        "arccosh",
        "arctanh",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "cbrt",
        "degrees",
        "radians",
        "angle",
    ],
)
def test_functions_of_floats_are_close(name: str, scale: float) -> None:
    rng = np.random.default_rng(SEED)
    for dtype in ["f2", "f4", "f8", "i4"]:
        x = (items(rng, dtype, (1003,)) * scale).astype(dtype)
        assert_same(getattr(mt, name)(tensor(x, rng)), getattr(np, name)(x), ulps=4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["sinh", "cosh", "arcsinh", "arccosh", "log1p", "exp", "log"])
def test_functions_keep_their_range(name: str) -> None:
    x = np.array([709.5, 710.3, -710.3, 1e160, 1e308, -745.0, 5e-324, 1e-310])
    assert_same(getattr(mt, name)(constant(x)), getattr(np, name)(x), ulps=4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name",
    [
        "sin",
        "cos",
        "tan",
        "arcsin",
        "arctan",
        "sinh",
        "cosh",
        "tanh",
        "exp",
        "log",
        "sqrt",
        "expm1",
        "log1p",
        "log2",
        "log10",
    ],
)
def test_functions_of_complex_numbers_are_close(name: str) -> None:
    rng = np.random.default_rng(SEED)
    for dtype in COMPLEX:
        x = (rng.normal(0, 1, 50) + 1j * rng.normal(0, 1, 50)).astype(dtype)
        got = getattr(mt, name)(tensor(x, rng)).to_numpy()
        want = getattr(np, name)(x)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=20 * np.finfo(dtype).eps)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name", ["arctan2", "hypot", "power", "float_power", "logaddexp", "logaddexp2"]
)
def test_functions_of_two_floats_are_close(name: str) -> None:
    rng = np.random.default_rng(SEED)
    for dtype in FLOATS:
        x, y = items(rng, dtype, (1003,)), items(rng, dtype, (1003,))
        assert_same(
            getattr(mt, name)(tensor(x, rng), tensor(y, rng)), getattr(np, name)(x, y), ulps=4
        )


def test_whole_powers_wrap_and_refuse_negative_exponents() -> None:
    x = np.arange(-5, 6, dtype="i1")
    assert_same(mt.power(constant(x), np.int8(5)), np.power(x, np.int8(5)))
    for n in (0, 1, 2, 3):
        assert_same(constant(x) ** n, x**n)
    with pytest.raises(ValueError, match="negative integer powers"):
        mt.power(constant(x), np.int8(-1)).execute()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers_take_the_short_way() -> None:
    x = np.array([4.0, -1.5, 0.0, np.inf, -np.inf, np.nan])
    for n in (2, 0.5, -1, 1, 3, 0, 2.0):
        assert_same(constant(x) ** n, x**n, ulps=1)
    assert (constant(x) ** 2)._handle.operator == "square"
    assert (constant(x) ** 3)._handle.operator == "multiply"
    many = np.random.default_rng(SEED).normal(size=1000)
    for dtype in FLOATS:
        assert_same(constant(many.astype(dtype)) ** 3, many.astype(dtype) ** 3, ulps=2)


def test_division_by_zero_and_of_the_least_integer() -> None:
    with np.errstate(all="ignore"):
        for dtype in INTEGERS:
            info = np.iinfo(dtype)
            x = np.array([info.min, info.max, 7, 0], dtype)
            for y in (np.zeros(4, dtype), np.full(4, -1).astype(dtype)):
                for name in ("floor_divide", "remainder", "fmod"):
                    assert_same(
                        getattr(mt, name)(constant(x), constant(y)), getattr(np, name)(x, y)
                    )


def test_numbers_beside_tensors_are_weak() -> None:
    for dtype in ALL:
        x = np.ones(3, dtype)
        for number in (True, 2, 2.5, 1j, np.float32(2), np.int64(3), np.float64(1)):
            try:
                want = x + number
            except TypeError:
                continue
            assert_same(constant(x) + number, want)
            assert_same(number + constant(x), number + x)
    with pytest.raises(OverflowError):
        constant(np.ones(3, "u1")) + 300
    with pytest.raises(OverflowError):
        constant(np.ones(3, "u1")) + -1


def test_comparisons_with_numbers_out_of_range() -> None:
    x = np.array([0, 255], "u1")
    for number in (300, -1, 2**63, 2**70, -(2**70)):
        assert_same(constant(x) < number, x < number)
        assert_same(constant(x) == number, x == number)


def test_signed_and_unsigned_are_compared_exactly() -> None:
    x = np.array([-1, 2**62, 2**63 - 1], "i8")
    y = np.array([2**64 - 1, 2**62, 2**63], "u8")
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        assert_same(getattr(mt, name)(constant(x), constant(y)), getattr(np, name)(x, y))
        assert_same(getattr(mt, name)(constant(y), constant(x)), getattr(np, name)(y, x))


def test_operators_of_python() -> None:
    x, y = np.arange(1, 7).reshape(2, 3), np.arange(3, 9).reshape(2, 3)
    a, b = constant(x), constant(y)
    assert_same(a + b - a * b, x + y - x * y)
    assert_same(a / b, x / y)
    assert_same(divmod(b, a)[0] + b % a, divmod(y, x)[0] + y % x)
    assert_same(2 - a, 2 - x)
    assert_same(7 // a, 7 // x)
    assert_same((a << 1) | (b & 3) ^ (a >> 1), (x << 1) | (y & 3) ^ (x >> 1))
    assert_same(-a + abs(~a) + +b, -x + abs(~x) + +y)
    assert_same((a < b) & (a != 2), (x < y) & (x != 2))
    assert_same(np.arange(3) + a, np.arange(3) + x)
    assert (a == None) is False  # noqa: E711
    assert len({a, b, a}) == 2


def test_in_place_operators_rebind_the_tensor() -> None:
    x = np.arange(5.0)
    a = constant(x)
    before = a + 0
    same = a
    a += 1
    a *= 2
    assert a is same
    assert_same(a, (x + 1) * 2)
    assert_same(before, x)
    np.testing.assert_array_equal(x, np.arange(5.0))
    whole = constant(np.arange(5))
    with pytest.raises(TypeError, match="same_kind"):
        whole += 1.5


def test_out_and_where() -> None:
    x = np.arange(6.0).reshape(2, 3)
    out = constant(np.zeros((2, 3)))
    assert mt.add(constant(x), 1, out=out) is out
    assert_same(out, x + 1)
    mask = x > 2
    target = np.full((2, 3), 9.0)
    out = constant(target.copy())
    mt.sqrt(constant(x), out=out, where=constant(mask))
    np.sqrt(x, out=target, where=mask)
    assert_same(out, target)
    wide = constant(np.zeros((2, 3), "f4"))
    mt.add(constant(np.arange(3.0)), 1, out=wide)
    assert_same(wide, np.broadcast_to(np.arange(3.0) + 1, (2, 3)).astype("f4"))
    with pytest.raises(ValueError, match="does not go into out"):
        mt.add(constant(x), 1, out=constant(np.zeros(3)))
    with pytest.raises(TypeError, match="out must be a tensor"):
        mt.add(constant(x), 1, out=np.zeros(3))


def test_dtype_chooses_the_form() -> None:
    x = np.arange(4, dtype="i4")
    assert_same(mt.add(constant(x), 1, dtype="f4"), np.add(x, 1, dtype="f4"))
    assert_same(mt.sqrt(constant(x), dtype="f4"), np.sqrt(x, dtype="f4"))
    with pytest.raises(TypeError):
        mt.add(constant(x.astype("c16")), 1, dtype="f8")


def test_where_and_clip_and_copyto() -> None:
    rng = np.random.default_rng(SEED)
    for dtype in ALL:
        x, y = items(rng, dtype, (4, 5)), items(rng, "f4", (5,))
        mask = rng.random((4, 1)) < 0.5
        assert_same(
            mt.where(tensor(mask, rng), tensor(x, rng), tensor(y, rng)), np.where(mask, x, y)
        )
    x = rng.normal(size=20)
    assert_same(mt.clip(constant(x), -0.5, 0.5), np.clip(x, -0.5, 0.5))
    assert_same(mt.clip(constant(x), None, 0.5), np.clip(x, None, 0.5))
    assert_same(constant(x).clip(0), x.clip(0))
    whole = constant(np.zeros(3, "i4"))
    mt.copyto(whole, [1, 2, 3], where=[True, False, True])
    assert_same(whole, np.array([1, 0, 3], "i4"))


def test_rounding_to_decimals() -> None:
    x = np.array([1.255, -2.5, 3.14159, 1e10, 0.5, 1.5])
    for decimals in (-2, -1, 0, 1, 3):
        assert_same(mt.around(constant(x), decimals), np.around(x, decimals))
    whole = np.array([15, 25, -35, 149])
    for decimals in (-2, -1, 0, 2):
        assert_same(mt.round(constant(whole), decimals), np.round(whole, decimals))
    assert_same(constant(x).round(1), x.round(1))


def test_numbers_in_place_of_nan() -> None:
    for dtype in [*FLOATS, *COMPLEX, "i4"]:
        x = np.array([np.nan, np.inf, -np.inf, 1.5]).astype("f4" if dtype == "i4" else dtype)
        x = np.nan_to_num(x).astype("i4") if dtype == "i4" else x
        assert_same(mt.nan_to_num(constant(x)), np.nan_to_num(x))
    x = np.array([np.nan, np.inf, -np.inf])
    assert_same(mt.nan_to_num(constant(x), nan=1, posinf=2, neginf=3), [1.0, 2.0, 3.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_closeness() -> None:
    x = np.array([1.0, 1 + 1e-9, np.nan, np.inf, -np.inf, 2.0])
    y = np.array([1.0, 1.0, np.nan, np.inf, np.inf, 2.1])
    for equal_nan in (False, True):
        assert_same(
            mt.isclose(constant(x), constant(y), equal_nan=equal_nan),
            np.isclose(x, y, equal_nan=equal_nan),
        )
    assert_same(mt.isclose(constant(x), y, rtol=0.1), np.isclose(x, y, rtol=0.1))
    assert_same(mt.isclose(constant(np.arange(3)), np.arange(3)), np.ones(3, bool))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_parts_of_floats() -> None:
    rng = np.random.default_rng(SEED)
    for dtype in FLOATS:
        x = items(rng, dtype, (40,))
        for got, want in zip(mt.modf(constant(x)), np.modf(x), strict=True):
            assert_same(got, want)
        mantissa, exponent = mt.frexp(constant(x))
        assert_same(mantissa, np.frexp(x)[0])
        finite = np.isfinite(x)
        np.testing.assert_array_equal(exponent.to_numpy()[finite], np.frexp(x)[1][finite])
        assert_same(mt.ldexp(constant(x), 3), np.ldexp(x, 3))


def test_sinc_and_i0_and_angles() -> None:
    x = np.linspace(-20, 20, 101)
    assert_same(mt.sinc(constant(x)), np.sinc(x), ulps=8)
    np.testing.assert_allclose(mt.i0(constant(x)).to_numpy(), np.i0(x), rtol=1e-14)
    z = np.array([1 + 1j, -1, -1j, 0])
    assert_same(mt.angle(constant(z), deg=True), np.angle(z, deg=True), ulps=2)
    np.testing.assert_allclose(constant(z).conj().imag.to_numpy(), -z.imag)


def test_trees_of_many_tensors() -> None:
    parts = [np.arange(4) + i for i in range(7)]
    assert_same(mt.tree_add(*map(constant, parts)), sum(parts))
    assert_same(
        mt.tree_multiply([constant(each + 1) for each in parts]),
        np.prod([p + 1 for p in parts], axis=0),
    )


def test_what_is_not_defined_is_refused_when_the_graph_is_built() -> None:
    x = constant(np.ones(3))
    with pytest.raises(TypeError, match=r"\[bitwise_and\] is not defined for float64 and int64"):
        mt.bitwise_and(x, np.arange(3))
    with pytest.raises(TypeError, match="takes 2 inputs"):
        mt.add(x)
    with pytest.raises(ValueError, match="broadcast"):
        x + np.ones(4)
    with pytest.raises(TypeError, match="cannot cast from float64 to int32 by the rule 'safe'"):
        x.astype("i4", casting="safe")
    with pytest.raises(ValueError, match="casting is one of"):
        x.astype("i4", casting="any")


@pytest.mark.filterwarnings("ignore")
def test_casts_between_all_dtypes() -> None:
    rng = np.random.default_rng(SEED)
    for source in ALL:
        x = items(rng, source, (30,))
        if np.dtype(source).kind in "fc":
            x = np.nan_to_num(np.where(np.abs(x) > 100, 5, x)).astype(source)
        for target in ALL:
            if np.dtype(source).kind in "fc" and np.dtype(target).kind == "u":
                x = np.abs(x).astype(source)
            assert_same(tensor(x, rng).astype(target), x.astype(target))
