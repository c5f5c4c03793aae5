"""Statistics against NumPy over dtypes, shapes, axes and chunkings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import muster.tensor as mt
from muster.tensor._call import constant

METHODS = [
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
]
RULES = ["auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges"]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def chunked(rng: np.random.Generator, array: Any) -> mt.Tensor:
    if array.ndim == 0 or rng.random() < 0.3:
        return constant(array)
    return constant(
        array, chunk_size=[int(rng.integers(max(1, n // 5), max(2, n + 1))) for n in array.shape]
    )


def check(got: mt.Tensor, wanted: Any, context: Any = None, digits: float = 50.0) -> None:
    wanted = np.asarray(wanted)
    assert got.dtype == wanted.dtype, context
    items = got.to_numpy()
    assert items.shape == wanted.shape, context
    if wanted.dtype.kind in "biumM":
        np.testing.assert_array_equal(items, wanted, err_msg=str(context))
        return
    eps = float(np.finfo(wanted.dtype).eps)
    np.testing.assert_allclose(
        items, wanted, rtol=eps * digits, atol=eps * digits, err_msg=str(context)
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u8", "i1"])
def test_quantiles_agree_with_numpy(method: str, dtype: str, rng: np.random.Generator) -> None:
    for shape in [(1,), (2,), (9,), (300,), (6, 7), (3, 4, 5)]:
        array = (rng.random(shape) * 100).astype(dtype)
        for axis in [None, -1, 0, tuple(range(len(shape)))]:
            for q in [0.3, [0.0, 0.5, 1.0], rng.random((2, 3))]:
                keepdims = bool(rng.integers(2))
                wanted = np.quantile(array, q, axis=axis, method=method, keepdims=keepdims)
                got = mt.quantile(
                    chunked(rng, array), q, axis=axis, method=method, keepdims=keepdims
                )
                assert got.shape == wanted.shape
                # NumPy takes differences of small floats in their own type.
                small = {"f4": 1e10, "f2": 2e13}.get(dtype, 50.0)
                digits = small if wanted.dtype == "f8" else 2000.0
                check(got, wanted, (shape, axis, q), min(digits, small))


def test_percentiles_and_medians(rng: np.random.Generator) -> None:
    for dtype in ["f8", "f4", "i4", "?"]:
        array = (rng.random((8, 9)) * 3).astype(dtype)
        for axis in [None, 0, 1, (0, 1)]:
            check(mt.median(chunked(rng, array), axis=axis), np.median(array, axis=axis))
            if dtype != "?":
                wanted = np.percentile(array, [10, 50, 99], axis=axis)
                got = mt.percentile(chunked(rng, array), [10, 50, 99], axis=axis)
                check(got, wanted, axis, 1e10 if dtype == "f4" else 50)


def test_quantiles_and_nan(rng: np.random.Generator) -> None:
    array = rng.random((20, 6))
    array[rng.random((20, 6)) < 0.1] = np.nan
    array[:, 3] = np.nan
    for axis in [None, 0, 1]:
        for plain, ours in [
            (np.median, mt.median),
            (np.nanmedian, mt.nanmedian),
            (
                lambda x, axis: np.quantile(x, 0.2, axis=axis),
                lambda x, axis: mt.quantile(x, 0.2, axis=axis),
            ),
            (
                lambda x, axis: np.nanpercentile(x, [5, 70], axis=axis),
                lambda x, axis: mt.nanpercentile(x, [5, 70], axis=axis),
            ),
        ]:
            check(ours(chunked(rng, array), axis=axis), plain(array, axis=axis), axis)


def test_weighted_quantiles(rng: np.random.Generator) -> None:
    array = rng.random((9, 7))
    for axis, weights in [(None, rng.random((9, 7))), (0, rng.random(9)), (1, rng.random((9, 7)))]:
        for keepdims in (False, True):
            options = {"axis": axis, "method": "inverted_cdf", "keepdims": keepdims}
            for q in (0.3, [0.1, 0.9]):
                check(
                    mt.quantile(chunked(rng, array), q, weights=chunked(rng, weights), **options),
                    np.quantile(array, q, weights=weights, **options),
                )
    array[2, 3] = np.nan
    weights = rng.random((9, 7))
    check(
        mt.nanpercentile(chunked(rng, array), 40, 1, method="inverted_cdf", weights=weights),
        np.nanpercentile(array, 40, 1, method="inverted_cdf", weights=weights),
    )
    with pytest.raises(ValueError, match="linear"):
        mt.quantile(array, 0.5, weights=array)
    with pytest.raises(TypeError, match="Axis must be specified"):
        mt.quantile(array, 0.5, method="inverted_cdf", weights=np.ones(7))
    with pytest.raises(ValueError, match="consistent"):
        mt.quantile(array, 0.5, 0, method="inverted_cdf", weights=np.ones(7))


def test_quantiles_refuse_what_numpy_refuses() -> None:
    with pytest.raises(ValueError, match="Quantiles must be in the range"):
        mt.quantile(np.ones(3), 1.5)
    with pytest.raises(ValueError, match="Percentiles must be in the range"):
        mt.percentile(np.ones(3), [-1, 50])
    with pytest.raises(ValueError, match="no_such"):
        mt.quantile(np.ones(3), 0.5, method="no_such")
    with pytest.raises(TypeError):
        mt.quantile(np.ones(3, complex), 0.5)


@pytest.mark.parametrize("dtype", ["i8", "u1", "i4", "?"])
def test_bincount(dtype: str, rng: np.random.Generator) -> None:
    array = rng.integers(0, 2 if dtype == "?" else 50, 400).astype(dtype)
    weights = rng.random(400)
    check(mt.bincount(chunked(rng, array)), np.bincount(array))
    check(mt.bincount(chunked(rng, array), minlength=80), np.bincount(array, minlength=80))
    got = mt.bincount(chunked(rng, array), chunked(rng, weights))
    check(got, np.bincount(array, weights))
    check(mt.bincount([]), np.bincount([]))
    with pytest.raises(TypeError, match="whole numbers"):
        mt.bincount(weights)
    with pytest.raises(ValueError, match="must not be negative"):
        mt.bincount(np.array([1, -2])).execute()


@pytest.mark.parametrize("right", [False, True])
def test_digitize(right: bool, rng: np.random.Generator) -> None:
    edges = np.sort(rng.integers(0, 40, 12))
    for array in [
        rng.integers(-5, 50, (20, 9)),
        rng.random((7, 5)) * 40,
        np.array([np.nan, 3, np.inf]),
        np.array(7.5),
    ]:
        for bins in [edges, edges[::-1], edges + 0.5]:
            got = mt.digitize(chunked(rng, array), bins, right=right)
            check(got, np.digitize(array, bins, right=right))
    with pytest.raises(ValueError, match="monotonically"):
        mt.digitize([1], [1, 3, 2])


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
def test_histograms(dtype: str, rng: np.random.Generator) -> None:
    array = (rng.random((40, 30)) * 100).astype(dtype)
    weights = rng.random((40, 30))
    for bins in [1, 10, 37, [0, 5, 5.5, 30, 100], np.linspace(0, 90, 20)]:
        for limits in [None, (10, 60)]:
            wanted, edges = np.histogram(array, bins, limits)
            got, got_edges = mt.histogram(chunked(rng, array), bins, limits)
            check(got_edges, edges)
            check(got, wanted, (bins, limits))
            wanted, _ = np.histogram(array, bins, limits, weights=weights)
            got, _ = mt.histogram(chunked(rng, array), bins, limits, weights=chunked(rng, weights))
            check(got, wanted, (bins, limits), 500)


@pytest.mark.parametrize("rule", RULES)
def test_rules_for_bins(rule: str, rng: np.random.Generator) -> None:
    for array in [rng.normal(size=500), rng.integers(0, 9, 300), np.ones(5), np.zeros(0)]:
        wanted = np.histogram_bin_edges(array, rule)
        check(mt.histogram_bin_edges(chunked(rng, array), rule), wanted)
        check(mt.histogram(chunked(rng, array), rule)[0], np.histogram(array, rule)[0])


def test_rules_within_a_range(rng: np.random.Generator) -> None:
    array = rng.normal(size=500)
    wanted = np.histogram_bin_edges(array, "auto", (-1, 1))
    check(mt.histogram_bin_edges(chunked(rng, array), "auto", (-1, 1)), wanted)


def test_densities(rng: np.random.Generator) -> None:
    array = rng.random(300)
    for bins in [10, [0, 0.1, 0.5, 1]]:
        wanted, _ = np.histogram(array, bins, density=True)
        check(mt.histogram(chunked(rng, array), bins, density=True)[0], wanted)


def test_histograms_refuse_what_numpy_refuses() -> None:
    with pytest.raises(ValueError, match="increase monotonically"):
        mt.histogram(np.ones(3), [1, 3, 2])
    with pytest.raises(ValueError, match="not a valid estimator"):
        mt.histogram(np.ones(3), "best")
    with pytest.raises(ValueError, match="must be positive"):
        mt.histogram(np.ones(3), 0)
    with pytest.raises(ValueError, match="larger than min"):
        mt.histogram(np.ones(3), 3, (2, 1))
    with pytest.raises(ValueError, match="not finite"):
        mt.histogram(np.array([1, np.nan]), 3)[0].execute()


def test_ptp(rng: np.random.Generator) -> None:
    array = rng.random((5, 6))
    for axis in [None, 0, (0, 1)]:
        check(mt.ptp(chunked(rng, array), axis=axis), np.ptp(array, axis=axis))
        check(chunked(rng, array).ptp(axis=axis), np.ptp(array, axis=axis))


@pytest.mark.parametrize("dtype", ["f8", "i4", "c16"])
def test_averages(dtype: str, rng: np.random.Generator) -> None:
    array = (rng.random((6, 7)) * 10).astype(dtype)
    for axis, weights in [
        (None, None),
        (0, None),
        (None, rng.random((6, 7))),
        (1, rng.random((6, 7))),
        (1, rng.random(7)),
        (0, rng.integers(1, 5, 6)),
    ]:
        wanted, scale = np.average(array, axis, weights, returned=True)
        got, got_scale = mt.average(chunked(rng, array), axis, weights, returned=True)
        check(got, wanted, axis)
        check(got_scale, scale, axis)
    with pytest.raises(TypeError):
        mt.average(array, weights=[1, 2])


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
def test_covariances(dtype: str, rng: np.random.Generator) -> None:
    array = (rng.random((4, 50)) * 10).astype(dtype)
    if dtype == "c16":
        array = array + 1j * rng.random((4, 50))
    for options in [
        {},
        {"rowvar": False},
        {"bias": True},
        {"ddof": 3},
        {"fweights": rng.integers(1, 4, 50)},
        {"aweights": rng.random(50), "fweights": rng.integers(1, 4, 50)},
    ]:
        data = array[:, :3] if "rowvar" in options else array
        check(mt.cov(chunked(rng, data), **options), np.cov(data, **options), options, 5000)  # type: ignore[arg-type]
    check(mt.cov(array[0], array[1]), np.cov(array[0], array[1]), None, 5000)
    check(mt.corrcoef(chunked(rng, array)), np.corrcoef(array), None, 5000)
    check(mt.cov(array[0]), np.cov(array[0]), None, 5000)
