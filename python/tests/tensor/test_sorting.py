"""Sorting, searching and sets, against NumPy over dtypes, axes and chunkings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import muster
import muster.tensor as mt
from muster.tensor._call import constant

INTEGERS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
DTYPES = [*INTEGERS, "f2", "f4", "f8", "c8", "c16", "M8[s]", "m8[ms]"]


def sample(rng: np.random.Generator, shape: Any, dtype: str, few: bool = False) -> Any:
    """Numbers of both signs with NaN, infinities and repeats among them."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu" and not few:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    whole = rng.integers(0 if kind == "u" else -5, 6, shape)
    if kind in "iu":
        return whole.astype(dtype)
    if kind in "mM":
        items = whole.astype("i8").astype(dtype)
        items[rng.random(shape) < 0.1] = "NaT"
        return items
    real = (whole if few else rng.standard_normal(shape)).astype(np.float64)
    for value in (np.nan, np.inf, -np.inf, 0.0, -0.0):
        real = np.where(rng.random(shape) < 0.05, value, real)
    if kind == "c":
        imaginary = np.where(rng.random(shape) < 0.1, np.nan, whole)
        with np.errstate(invalid="ignore"):
            return (real + 0j + 1j * imaginary).astype(dtype)
    return real.astype(dtype)


def chunked(rng: np.random.Generator, array: Any) -> mt.Tensor:
    if array.ndim == 0 or rng.random() < 0.3:
        return constant(array)
    return constant(array, chunk_size=[int(rng.integers(1, max(2, n + 1))) for n in array.shape])


def same(got: Any, wanted: Any) -> None:
    items = got.to_numpy() if isinstance(got, mt.Tensor) else np.asarray(got)
    assert items.dtype == wanted.dtype
    np.testing.assert_array_equal(items, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_along_axes(dtype: str, rng: np.random.Generator) -> None:
    for shape in [(40,), (7, 9), (3, 4, 5), (0,), (3, 0), (1,)]:
        a = sample(rng, shape, dtype)
        for axis in range(-1, len(shape)):
            same(mt.sort(chunked(rng, a), axis=axis), np.sort(a, axis=axis))
        same(mt.sort(chunked(rng, a), axis=None), np.sort(a, axis=None))


@pytest.mark.parametrize("dtype", DTYPES)
def test_argsort_keeps_equal_items_in_order(dtype: str, rng: np.random.Generator) -> None:
    for shape in [(40,), (7, 9), (3, 4, 5), (0,)]:
        a = sample(rng, shape, dtype, few=True)
        for axis in range(len(shape)):
            got = mt.argsort(chunked(rng, a), axis=axis)
            same(got, np.argsort(a, axis=axis, kind="stable"))


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "i8", "c16", "M8[s]"])
def test_many_long_chunks_are_merged(dtype: str, rng: np.random.Generator) -> None:
    for few in [False, True]:
        a = sample(rng, (300_000,), dtype, few=few)
        for chunk_size in (70_000, 9_000):
            x = constant(a, chunk_size=chunk_size)
            same(mt.sort(x), np.sort(a))
            if dtype != "c16":
                same(mt.argsort(x), np.argsort(a, kind="stable"))
    same(mt.sort(constant(a)), np.sort(a))
    same(mt.sort(constant(a, chunk_size=100)), np.sort(a))
    same(mt.sort(constant(a[::-3])), np.sort(a[::-3]))


@pytest.mark.here
@pytest.mark.parametrize("dtype", DTYPES)
def test_sorts_four_times_its_memory(dtype: str, rng: np.random.Generator) -> None:
    for few in [False, True]:
        a = sample(rng, (60_000,), dtype, few=few)
        # NumPy's other ways leave some of many equal float16 out of order with AVX-512.
        wanted = np.sort(a, kind="stable")
        distinct = np.unique(a.astype("f4")).astype("f2") if dtype == "f2" else np.unique(a)
        with muster.new_session(n_cpu=2, mem_bytes=a.nbytes // 4):
            for chunk_size in (2_000, 17_000):
                x = constant(a, chunk_size=chunk_size)
                same(mt.sort(x), wanted)
                same(mt.argsort(x), np.argsort(a, kind="stable"))
                if not dtype.startswith("c"):
                    same(mt.unique(x), distinct)
            lanes = a.reshape(2, 15_000, 2)
            got = mt.sort(constant(lanes, chunk_size=(1, 4_000, 2)), axis=1)
            same(got, np.sort(lanes, axis=1, kind="stable"))


def test_methods_sort_in_place(rng: np.random.Generator) -> None:
    a = rng.random((5, 6))
    x = chunked(rng, a)
    x.sort(axis=0)
    same(x, np.sort(a, axis=0))
    same(chunked(rng, a).argsort(), np.argsort(a))
    y = chunked(rng, a)
    y.partition(2)
    np.testing.assert_array_equal(y.to_numpy()[:, 2], np.partition(a, 2)[:, 2])


def test_partition_puts_places_right(rng: np.random.Generator) -> None:
    a = rng.random((6, 20))
    got = mt.partition(chunked(rng, a), [3, 7], axis=1).to_numpy()
    wanted = np.sort(a, axis=1)
    np.testing.assert_array_equal(got[:, [3, 7]], wanted[:, [3, 7]])
    places = mt.argpartition(chunked(rng, a), 3, axis=1).to_numpy()
    np.testing.assert_array_equal(np.take_along_axis(a, places, 1)[:, 3], wanted[:, 3])


@pytest.mark.parametrize("dtype", [*INTEGERS, "f2", "f4", "f8"])
def test_topk(dtype: str, rng: np.random.Generator) -> None:
    a = sample(rng, (6, 25), dtype, few=True)
    for axis in [0, 1, None]:
        for k in [0, 1, 4, 100]:
            items = np.sort(a, axis=axis, kind="stable")
            along = 0 if axis is None else axis
            n = items.shape[along]
            least = np.take(items, range(min(k, n)), axis=along)
            most = np.take(np.flip(items, along), range(min(k, n)), axis=along)
            same(mt.topk(chunked(rng, a), k, axis=axis, largest=False), least)
            same(mt.topk(chunked(rng, a), k, axis=axis), most)
            places = mt.argtopk(chunked(rng, a), k, axis=axis).to_numpy()
            flat = a.ravel() if axis is None else a
            np.testing.assert_array_equal(np.take_along_axis(flat, places, along), most)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(dtype: str, rng: np.random.Generator) -> None:
    if dtype in ("c8", "c16"):
        a = rng.integers(-3, 3, (7, 8)).astype(dtype)
    else:
        a = sample(rng, (7, 8), dtype, few=True)
    for array in [a, a[0], a[:0]]:
        same(mt.unique(chunked(rng, array)), np.unique(array))
        got = mt.unique(chunked(rng, array), True, True, True)
        for one, wanted in zip(got, np.unique(array, True, True, True), strict=True):
            same(one, wanted)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_unique_slices_and_nans(axis: int | None, rng: np.random.Generator) -> None:
    array = rng.integers(0, 2, (12, 3)).astype(float)
    array[array == 1] = np.nan
    for equal_nan in (True, False):
        got = mt.unique(chunked(rng, array), True, True, True, axis=axis, equal_nan=equal_nan)
        wanted = np.unique(array, True, True, True, axis=axis, equal_nan=equal_nan)
        for one, expected in zip(got, wanted, strict=True):
            same(one, expected)
        same(
            mt.unique(chunked(rng, array), axis=axis, equal_nan=equal_nan),
            np.unique(array, axis=axis, equal_nan=equal_nan),
        )


def test_unique_of_many_chunks(rng: np.random.Generator) -> None:
    for most in [10, 10**9]:
        a = rng.integers(0, most, 1_500_000)
        got = mt.unique(constant(a, chunk_size=200_000))
        assert np.isnan(got.shape[0])
        same(got, np.unique(a))
        got = mt.unique(constant(a, chunk_size=200_000), True, True, True)
        for one, wanted in zip(got, np.unique(a, True, True, True), strict=True):
            same(one, wanted)
    same(mt.sort(mt.unique(constant(a, chunk_size=200_000))), np.unique(a))


def test_complex_nans_are_one_item(rng: np.random.Generator) -> None:
    parts = np.array([0, 1, np.nan])
    few = rng.choice(parts, 40) + 1j * rng.choice(parts, 40)
    some = rng.integers(0, 10**6, 300_000)
    many = np.where(some % 7 == 0, rng.choice(few[np.isnan(few)], some.size), some + 0j)
    for array, size in [(few, 9), (many, 50_000)]:
        same(mt.unique(constant(array, chunk_size=size)), np.unique(array))
        got = mt.unique(constant(array, chunk_size=size), True, True, True)
        for one, wanted in zip(got, np.unique(array, True, True, True), strict=True):
            same(one, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_searchsorted(dtype: str, rng: np.random.Generator) -> None:
    a = np.sort(sample(rng, (30,), dtype, few=True))
    v = sample(rng, (4, 7), dtype, few=True)
    for side in ["left", "right"]:
        same(mt.searchsorted(chunked(rng, a), chunked(rng, v), side), np.searchsorted(a, v, side))
    same(mt.searchsorted(chunked(rng, a), v[0, 0]), np.asarray(np.searchsorted(a, v[0, 0])))


def test_searches_what_is_too_large_for_one_chunk(rng: np.random.Generator) -> None:
    a = np.sort(rng.integers(0, 500, 1000))
    v = rng.integers(-5, 510, 300)
    with muster.option_context(chunk_store_limit=1000):
        for side in ["left", "right"]:
            got = mt.searchsorted(constant(a, chunk_size=90), constant(v, chunk_size=70), side)
            same(got, np.searchsorted(a, v, side))


@pytest.mark.parametrize("dtype", [*INTEGERS, "f4", "f8", "M8[s]"])
def test_sets(dtype: str, rng: np.random.Generator) -> None:
    a = sample(rng, (5, 8), dtype, few=True)
    b = sample(rng, (6,), dtype, few=True)
    for invert in [False, True]:
        got = mt.isin(chunked(rng, a), chunked(rng, b), invert=invert)
        same(got, np.isin(a, b, invert=invert))
    same(mt.in1d(chunked(rng, a), b), np.isin(a.ravel(), b))
    if np.dtype(dtype).kind in "fM":
        a, b = a[a == a], b[b == b]
    same(mt.union1d(chunked(rng, a), chunked(rng, b)), np.union1d(a, b))
    same(mt.intersect1d(chunked(rng, a), chunked(rng, b)), np.intersect1d(a, b))
    same(mt.setdiff1d(chunked(rng, a), chunked(rng, b)), np.setdiff1d(a, b))
    same(mt.setxor1d(chunked(rng, a), chunked(rng, b)), np.setxor1d(a, b))


def test_sets_of_different_dtypes() -> None:
    a, b = np.arange(5), np.array([1.5, 2.0, 4.0])
    same(mt.isin(a, b), np.isin(a, b))
    same(mt.union1d(a, b), np.union1d(a, b))
    same(mt.setdiff1d(a, b), np.setdiff1d(a, b))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mt.sort(1.0), IndexError, "without axes"),
        (lambda: mt.sort(np.ones(3), axis=1), IndexError, "axis 1"),
        (lambda: mt.sort(np.ones(3), kind="bogo"), ValueError, "kind"),
        (lambda: mt.sort(np.ones(3), order="x"), ValueError, "order"),
        (lambda: mt.partition(np.ones(3), 3), ValueError, "out of bounds"),
        (lambda: mt.topk(np.ones(3), -1), ValueError, "negative"),
        (lambda: mt.searchsorted(np.ones((2, 2)), 1), ValueError, "one axis"),
        (lambda: mt.searchsorted(np.ones(2), 1, side="up"), ValueError, "side"),
        (lambda: mt.unique(np.ones((2, 2)), axis=2), np.exceptions.AxisError, "axis"),
    ],
)
def test_wrong_use_is_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
