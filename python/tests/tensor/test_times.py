"""Dates and differences between them, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import muster.tensor as mt
from muster.tensor._call import constant

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"]


def dates(unit: str, seed: int = 1) -> np.ndarray[Any, Any]:
    days = np.random.default_rng(seed).integers(-40000, 40000, 40).astype("M8[D]")
    days[3] = np.datetime64("NaT")
    return days.astype(f"M8[{unit}]")


def spans(unit: str, seed: int = 2) -> np.ndarray[Any, Any]:
    values = np.random.default_rng(seed).integers(-1000, 1000, 40).astype(f"m8[{unit}]")
    values[5] = np.timedelta64("NaT")
    return values


def assert_same(got: mt.Tensor, want: Any) -> None:
    items = got.to_numpy()
    assert items.dtype == want.dtype
    np.testing.assert_array_equal(items, want)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("other", UNITS)
def test_dates_change_their_unit(unit: str, other: str) -> None:
    x = dates(unit)
    assert_same(constant(x, chunk_size=7).astype(f"M8[{other}]"), x.astype(f"M8[{other}]"))


@pytest.mark.parametrize("unit", UNITS[2:])
@pytest.mark.parametrize("other", UNITS[2:])
def test_arithmetic_brings_times_to_the_finer_unit(unit: str, other: str) -> None:
    x, y, t = dates(unit), dates(other, 3), spans(other)
    assert_same(constant(x) - constant(y), x - y)
    assert_same(constant(x) + constant(t), x + t)
    assert_same(constant(x) - constant(t), x - t)
    assert_same(constant(t) + constant(x), t + x)
    for name in ("less", "equal", "not_equal", "greater_equal", "maximum", "fmin"):
        assert_same(getattr(mt, name)(constant(x), constant(y)), getattr(np, name)(x, y))
    assert_same(constant(spans(unit)) + constant(t), spans(unit) + t)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_differences_and_numbers() -> None:
    t, u = spans("s"), spans("ms", 4)
    u[7] = 0
    a, b = constant(t), constant(u)
    assert_same(a * 3, t * 3)
    assert_same(2.5 * a, 2.5 * t)
    assert_same(a / 2, t / 2)
    assert_same(a / 2.5, t / 2.5)
    assert_same(a // 7, t // 7)
    assert_same(a / b, t / u)
    assert_same(a // b, t // u)
    assert_same(a % b, t % u)
    assert_same(a + 1, t + 1)
    assert_same(-abs(a), -abs(t))
    assert_same(mt.isnan(a), np.isnan(t))
    assert_same(mt.isnat(a), np.isnat(t))
    assert_same(mt.isfinite(a), np.isfinite(t))
    assert_same(mt.where(t > u, a, b), np.where(t > u, t, u))
    assert_same(a.astype("i8"), t.astype("i8"))
    assert_same(constant(dates("M")) + constant(spans("Y")), dates("M") + spans("Y"))


def test_what_has_no_meaning_is_refused() -> None:
    a, t = constant(dates("D")), constant(spans("s"))
    with pytest.raises(TypeError, match=r"\[add\] is not defined for datetime64"):
        a + a
    with pytest.raises(TypeError, match="multiply"):
        t * t
    with pytest.raises(TypeError, match="no fixed length"):
        a + constant(spans("M"))
    with pytest.raises(TypeError, match="sin"):
        mt.sin(t)
    with pytest.raises(TypeError, match="cannot cast"):
        constant(dates("s")).astype("M8[D]", casting="safe")
