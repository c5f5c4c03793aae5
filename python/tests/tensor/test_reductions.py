"""Reductions against NumPy over dtypes, shapes, axes and chunkings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import muster.tensor as mt
from muster.tensor._call import constant

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (1,), (7,), (5000,), (3, 4), (40, 2), (2, 300), (1, 6), (4, 3, 5), (2, 3, 2, 4)]
PLAIN = ["sum", "prod", "max", "min", "all", "any", "mean", "var", "std", "count_nonzero"]
NAN = ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def sample(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, nan: bool = False) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(rng.random(shape) < 0.7)
    if kind in "iu":
        info = np.iinfo(dtype)
        return np.asarray(rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True))
    items = rng.standard_normal(shape)
    if kind == "c":
        items = items + 1j * rng.standard_normal(shape)
    items = np.asarray(items).astype(dtype)
    if nan and items.size:
        items[rng.random(shape) < 0.3] = np.nan
    return items


def chunked(rng: np.random.Generator, array: Any) -> mt.Tensor:
    if array.ndim == 0 or rng.random() < 0.3:
        return constant(array)
    return constant(
        array, chunk_size=[int(rng.integers(max(1, n // 5), max(2, n + 1))) for n in array.shape]
    )


def axes_of(rng: np.random.Generator, ndim: int) -> list[Any]:
    if ndim == 0:
        return [None]
    several = tuple(int(a) for a in rng.permutation(ndim)[: int(rng.integers(1, ndim + 1))])
    return [None, int(rng.integers(-ndim, ndim)), several]


def check(
    got: mt.Tensor, wanted: Any, context: Any = None, digits: float = 100.0, largest: float = 1.0
) -> None:
    wanted = np.asarray(wanted)
    assert got.dtype == wanted.dtype, context
    assert got.shape == wanted.shape, context
    items = got.to_numpy()
    assert items.shape == wanted.shape, context
    if wanted.dtype.kind in "biumM":
        np.testing.assert_array_equal(items, wanted, err_msg=str(context))
        return
    eps = float(np.finfo(wanted.dtype).eps)
    np.testing.assert_allclose(
        items, wanted, rtol=eps * digits, atol=eps * digits * largest, err_msg=str(context)
    )


def tolerance(name: str, dtype: str, array: Any) -> float:
    # Ours adds small floats in double; NumPy's own error is what is left.
    return 100.0 + 20.0 * array.size**0.5 if dtype in ("f2", "f4", "c8") else 100.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PLAIN + NAN)
def test_agrees_with_numpy(name: str, dtype: str, rng: np.random.Generator) -> None:
    kind = np.dtype(dtype).kind
    for shape in SHAPES:
        array = sample(rng, shape, dtype, nan=name in NAN)
        if dtype == "f2":
            array = (array / 8).astype(dtype)
        if "prod" in name and array.dtype.kind in "fc":
            array = array[tuple(slice(0, 20) for _ in shape)]
        for axis in axes_of(rng, array.ndim):
            keepdims = bool(rng.integers(2))
            wanted = getattr(np, name)(array, axis=axis, keepdims=keepdims)
            got = getattr(mt, name)(chunked(rng, array), axis=axis, keepdims=keepdims)
            # A mean near zero is as exact as the items whose sum it was.
            largest = (
                float(abs(array.astype("f8")).max()) if "mean" in name and kind in "iu" else 1.0
            )
            digits = tolerance(name, dtype, array)
            check(got, wanted, (name, dtype, shape, axis), digits, largest)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "any", "all", "var", "std", "nansum"])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2, 3)])
def test_nothing_is_reduced_to_what_numpy_says(
    name: str, shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    array = np.zeros(shape)
    for axis in [None, *range(len(shape))]:
        check(getattr(mt, name)(array, axis=axis), getattr(np, name)(array, axis=axis))


def test_there_is_no_least_of_nothing() -> None:
    with pytest.raises(ValueError, match=r"\[min\] there is none of no items: axis 1"):
        mt.min(np.zeros((2, 0)), axis=1)
    with pytest.raises(ValueError, match=r"\[argmax\]"):
        mt.argmax(np.zeros(0))
    check(mt.max(np.zeros((2, 0)), axis=0), np.zeros((2, 0)).max(axis=0))


def test_bad_axes_are_refused_where_they_are_given() -> None:
    x = constant(np.zeros((2, 3)))
    with pytest.raises(IndexError, match="axis 2 is out of bounds"):
        mt.sum(x, axis=2)
    with pytest.raises(ValueError, match="axis 1 is given twice"):
        mt.sum(x, axis=(1, -1))
    with pytest.raises(TypeError):
        mt.sum(x, axis="x")
    with pytest.raises(TypeError, match=r"\[sum\] is not defined for datetime64"):
        mt.sum(np.zeros(2, "M8[s]"))


@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax", "nanargmin"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_places_are_those_of_the_first(name: str, dtype: str, rng: np.random.Generator) -> None:
    for shape in [(1,), (50,), (2000,), (6, 7), (3, 4, 5), (30, 2)]:
        array = sample(rng, shape, dtype)
        if array.dtype.kind in "fciu":  # many that are equal
            array = (array.real.astype("f8") % 5 // 1).astype(dtype)
        if array.dtype.kind in "fc" and rng.random() < 0.5:
            array[rng.random(shape) < 0.1] = np.nan
            array[(0,) * array.ndim] = 2
        for axis in [None, *range(-array.ndim, array.ndim)]:
            if "nan" in name and np.isnan(array.astype("c16")).all(axis=axis).any():
                continue
            wanted = getattr(np, name)(array, axis=axis)
            check(getattr(mt, name)(chunked(rng, array), axis=axis), wanted, (shape, axis))


def test_places_of_only_nan_fail() -> None:
    with pytest.raises(ValueError, match="all items are NaN"):
        mt.nanargmin(np.array([[1.0, 2.0], [np.nan, np.nan]]), axis=1).execute()


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_scans_agree_with_numpy(name: str, dtype: str, rng: np.random.Generator) -> None:
    for shape in [(), (1,), (60,), (5, 7), (3, 4, 5), (0, 3)]:
        array = sample(rng, shape, dtype, nan="nan" in name)
        for axis in [None, *range(-array.ndim, array.ndim)]:
            wanted = getattr(np, name)(array, axis=axis)
            got = getattr(mt, name)(chunked(rng, array), axis=axis)
            check(got, wanted, (shape, axis), 1000)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "u2", "c16", "?", "f2"])
def test_dtype_is_what_is_computed_in(dtype: str, rng: np.random.Generator) -> None:
    whole = rng.integers(-5, 100, (30, 4))
    real = whole / 4
    for name in ["sum", "prod", "cumsum", "cumprod"]:
        for array in [whole, real]:
            if name.endswith("prod"):
                array = array[:3]
            got = getattr(mt, name)(chunked(rng, array), axis=0, dtype=dtype)
            check(got, getattr(np, name)(array, axis=0, dtype=dtype), (name, array.dtype))
    if dtype[0] in "fc":
        check(mt.mean(whole, dtype=dtype), np.mean(whole, dtype=dtype))


@pytest.mark.parametrize("ddof", [0, 1, 2.5, 60])
def test_variances_take_ddof_off(ddof: float, rng: np.random.Generator) -> None:
    array = rng.normal(1e4, 1, (50, 60))
    for name in ["var", "std", "nanvar", "nanstd"]:
        for axis in [None, 0, 1]:
            got = getattr(mt, name)(chunked(rng, array), axis=axis, ddof=ddof)
            check(got, getattr(np, name)(array, axis=axis, ddof=ddof), (name, axis), 1e6)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_infinite_items_have_no_variance(dtype: str) -> None:
    for items in [[1, np.inf], [np.inf], [1.0] * 40 + [-np.inf], [np.inf, -np.inf, 2]]:
        array = np.array(items, dtype)
        for name in ["var", "std", "nanvar", "nanstd"]:
            for size in [1, 7, 100]:
                got = getattr(mt, name)(constant(array, chunk_size=size))
                check(got, getattr(np, name)(array), (name, items, size))


def test_sums_are_as_exact_as_pairwise_ones(rng: np.random.Generator) -> None:
    array = rng.random(3_000_000) + 1e-3
    exact = float(np.sum(array.astype(np.longdouble)))
    got = float(mt.sum(constant(array, chunk_size=700_000)).to_numpy())
    assert abs(got - exact) <= 4 * abs(float(array.sum()) - exact) + 1e-14 * exact


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[ms]"])
def test_times(dtype: str, rng: np.random.Generator) -> None:
    array = rng.integers(-50, 50, (6, 7)).astype(dtype)
    missing = array.copy()
    missing[2, 3] = "NaT"
    names = ["min", "max", "argmin", "argmax", "nanmin", "nanmax", "any", "count_nonzero"]
    if dtype.startswith("m8"):
        names += ["sum", "mean", "cumsum"]
    for name in names:
        for items in [array, missing]:
            for axis in [None, 0, 1]:
                wanted = getattr(np, name)(items, axis=axis)
                check(getattr(mt, name)(chunked(rng, items), axis=axis), wanted, (name, axis))


def test_strides_and_orders(rng: np.random.Generator) -> None:
    array = rng.random((30, 40, 5))
    for seen in [array.T, array[::-2, ::3], np.asfortranarray(array), array[:, ::-1]]:
        for axis in [None, 0, 1, 2, (0, 2)]:
            check(mt.sum(chunked(rng, seen), axis=axis), seen.sum(axis=axis))
            check(mt.std(chunked(rng, seen), axis=axis), seen.std(axis=axis))


def test_methods(rng: np.random.Generator) -> None:
    array = rng.random((6, 5))
    x = chunked(rng, array)
    for name in ["sum", "prod", "min", "max", "mean", "var", "std", "argmin", "argmax", "cumsum"]:
        check(getattr(x, name)(axis=1), getattr(array, name)(axis=1))
        check(getattr(x, name)(), getattr(array, name)())
    check((x.any(axis=0)), array.any(axis=0))
    check((x.all(keepdims=True)), array.all(keepdims=True))


def test_out_stands_for_the_result() -> None:
    out = constant(np.zeros(3))
    result = mt.sum(np.ones((4, 3)), axis=0, out=out)
    assert result is out
    np.testing.assert_array_equal(out.to_numpy(), [4, 4, 4])
    with pytest.raises(ValueError, match="out has the shape"):
        mt.sum(np.ones((4, 3)), axis=1, out=out)


def test_where_and_initial(rng: np.random.Generator) -> None:
    array = rng.random((6, 5))
    mask = rng.random((6, 5)) < 0.6
    mask[0] = True
    for name in ["sum", "prod", "mean", "var", "std", "any", "all"]:
        for axis in [None, 0, (0, 1)]:
            wanted = getattr(np, name)(array, axis=axis, where=mask)
            got = getattr(mt, name)(chunked(rng, array), axis=axis, where=chunked(rng, mask))
            check(got, wanted, (name, axis))
    for name in ["min", "max", "sum", "prod"]:
        options: dict[str, Any] = {"axis": 1, "initial": 0.5, "where": mask}
        check(
            getattr(mt, name)(chunked(rng, array), **options), getattr(np, name)(array, **options)
        )
    check(mt.max(np.zeros((2, 0)), axis=1, initial=3.0), np.array([3.0, 3.0]))
    with pytest.raises(ValueError, match="needs initial"):
        mt.max(array, where=mask)


def test_equality_of_arrays() -> None:
    nan = np.array([1, np.nan])
    for a, b in [([1, 2], [1, 2]), ([1, 2], [1, 3]), ([1], [1, 1]), (nan, nan)]:
        check(mt.array_equal(a, b), np.array_equal(a, b))
    check(mt.array_equal(nan, nan, equal_nan=True), True)
    check(mt.allclose([1e10, 1e-7], [1.00001e10, 1e-8]), False)
    check(mt.allclose([1e10, 1e-8], [1.00001e10, 1e-9]), True)
    check(mt.allclose(nan, nan, equal_nan=True), True)


def test_a_chain_before_a_reduction_is_reduced_with_it(rng: np.random.Generator) -> None:
    array = rng.random((30, 40))
    x = chunked(rng, array)
    check((x * 2 + 1).std(axis=0), (array * 2 + 1).std(axis=0))
    check((x > 0.5).sum(axis=1), (array > 0.5).sum(axis=1))
    check(mt.argmax(-x, axis=0), np.argmax(-array, axis=0))


def test_sizes_that_are_known_late(rng: np.random.Generator) -> None:
    array = rng.random(500)
    x = chunked(rng, array)
    kept, wanted = x[x > 0.5], array[array > 0.5]
    for name in ["sum", "mean", "var", "max", "argmin"]:
        check(getattr(mt, name)(kept), getattr(np, name)(wanted), name)
    np.testing.assert_allclose(mt.cumsum(kept).to_numpy(), np.cumsum(wanted))
    check(mt.median(kept), np.median(wanted))
