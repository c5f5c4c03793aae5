"""Tensors made of nothing, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from beside_numpy import DTYPES, check, samples

import muster.tensor as mt

CHUNKS: list[Any] = [None, 1, 4, 100]


def same(got: Any, want: Any) -> None:
    got = got.to_numpy()
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-13) if want.dtype.kind in "fc" else (
        np.testing.assert_array_equal(got, want)
    )


@pytest.mark.parametrize("chunk_size", CHUNKS)
@pytest.mark.parametrize("dtype", DTYPES[:10])
def test_arange_counts_as_numpy_does(dtype: str, chunk_size: Any) -> None:
    arguments: list[tuple[Any, ...]] = [(11,), (3, 20), (20, 3, -4), (5, 5), (1, 10, 3), (3, 0)]
    if dtype == "?":
        arguments = [(2,), (0,), (1,)]
    for each in arguments:
        same(mt.arange(*each, dtype=dtype, chunk_size=chunk_size), np.arange(*each, dtype=dtype))


def test_arange_chooses_the_dtype_as_numpy_does() -> None:
    cases: list[tuple[Any, ...]] = [
        (3,),
        (0.5, 4.2, 0.3),
        (np.int8(3),),
        (np.float32(3),),
        (0, 1, 0.1),
        (np.datetime64("2020-01-01"), np.datetime64("2020-02-01")),
    ]
    for each in cases:
        same(mt.arange(*each, chunk_size=3), np.arange(*each))
    same(mt.arange(start=2, stop=9, step=2), np.arange(start=2, stop=9, step=2))
    with pytest.raises(ZeroDivisionError):
        mt.arange(1, 2, 0)


@pytest.mark.parametrize("chunk_size", CHUNKS)
def test_linspace_meets_both_ends(chunk_size: Any) -> None:
    for arguments in [(0, 1), (2.5, -7), (1j, 4 + 2j), (3, 3), (np.float32(1), np.float32(9))]:
        for num in (0, 1, 2, 13, 50):
            for endpoint in (True, False):
                same(
                    mt.linspace(*arguments, num, endpoint, chunk_size=chunk_size),
                    np.linspace(*arguments, num, endpoint),
                )
    same(mt.linspace(0, 9, 7, dtype=int), np.linspace(0, 9, 7, dtype=int))
    got, step = mt.linspace(1, 2, 11, retstep=True)
    same(got, np.linspace(1, 2, 11))
    assert step == np.linspace(1, 2, 11, retstep=True)[1]


def test_linspace_takes_arrays_as_ends() -> None:
    check(lambda m, a, b: m.linspace(a, b, 7), np.array([1.0, 2.0]), np.array([5.0, -3.0]))
    check(lambda m, a: m.linspace(a, 9, 4, axis=-1), np.arange(6.0).reshape(2, 3))
    check(lambda m, a: m.linspace(0, a, 5, endpoint=False, dtype=int), np.arange(4.0))


def test_linspace_refuses_a_negative_number_of_items() -> None:
    check(lambda m: m.linspace(0, 1, -1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_full_and_its_like(dtype: str) -> None:
    for shape in [(), 0, 5, (3, 0), (4, 5), (2, 3, 4)]:
        for chunk_size in (None, 2):
            same(mt.zeros(shape, dtype, chunk_size=chunk_size), np.zeros(shape, dtype))
            assert mt.empty(shape, dtype, chunk_size=chunk_size).to_numpy().dtype == dtype
    like = samples((3, 4), dtype)
    check(lambda m, a: m.zeros_like(a), like)
    check(lambda m, a: m.ones_like(a, dtype="f4"), like)
    check(lambda m, a: m.full_like(a, 1, shape=(2, 2)), like)


def test_full_repeats_an_array() -> None:
    check(lambda m: m.full((2, 3), 7))
    check(lambda m: m.full((2, 3), 2.5, dtype=int))
    check(lambda m, a: m.full((2, 3), a), np.arange(3))
    check(lambda m, a: m.full((2, 4), a), np.arange(3))


@pytest.mark.here
def test_a_constant_chunk_costs_no_memory() -> None:
    huge = mt.ones((10**6, 10**6), chunk_size=10**5)
    assert huge[5, :3].to_numpy().tolist() == [1, 1, 1]


def test_chunks_are_as_asked() -> None:
    x = mt.ones((5, 6), chunk_size=((2, 3), (4, 2))).execute()
    assert x._handle.nsplits == ((2, 3), (4, 2))
    assert mt.zeros((5, 6), chunk_size=(2, 6)).execute()._handle.nsplits == ((2, 2, 1), (6,))


@pytest.mark.parametrize(
    "chunk_size", [0, -1, (1,), (1, 2, 3), ((2, 2), (6,)), ((5,), (7, -1)), "big"]
)
def test_a_chunk_size_that_does_not_fit_is_refused(chunk_size: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="chunk_size"):
        mt.ones((5, 6), chunk_size=chunk_size)


@pytest.mark.parametrize("k", [-9, -2, 0, 1, 3, 9])
def test_diagonals(k: int) -> None:
    for rows, columns in [(4, 4), (5, 3), (3, 6), (0, 2)]:
        for chunk_size in (None, 1, 2):
            same(mt.eye(rows, columns, k, chunk_size=chunk_size), np.eye(rows, columns, k))
        x = samples((rows, columns))
        check(lambda m, a: m.diag(a, k), x)
        check(lambda m, a: m.tril(a, k), x)
        check(lambda m, a: m.triu(a, k), x)
    check(lambda m, a: m.diag(a, k), samples((4,), "c8"))
    check(lambda m, a: m.diagflat(a, k), samples((2, 2)))
    check(lambda m, a: m.diagonal(a, k, 2, 0), samples((3, 2, 4)))
    check(lambda m, a: m.triu(a, k), samples((2, 3, 4), "i2"))
    check(lambda m: m.tri(3, 5, k))


def test_diag_refuses_three_axes() -> None:
    check(lambda m, a: m.diag(a), samples((2, 2, 2)))


def test_grids() -> None:
    for indexing in ("xy", "ij"):
        for sparse in (False, True):
            check(
                lambda m, a, b, c, i=indexing, s=sparse: list(
                    m.meshgrid(a, b, c, indexing=i, sparse=s)
                ),
                np.arange(3),
                np.arange(4.0),
                np.arange(2),
            )
    check(lambda m: m.indices((3, 4)))
    check(lambda m: m.indices((2, 3, 2), dtype="f4", sparse=True))
    check(lambda m: m.mgrid[0:3, 1:2:4j])
    check(lambda m: m.ogrid[0:3, 1:2:4j])
    check(lambda m: m.mgrid[0:5:2])


def test_arrays_become_tensors() -> None:
    x = samples((3, 4))
    assert mt.tensor(x, dtype="f4").dtype == np.float32
    assert mt.array(5, ndmin=2).shape == (1, 1)
    assert mt.ascontiguousarray(3.0).shape == (1,)
    assert mt.scalar(4).shape == ()
    kept = mt.asarray(mt.tensor(x))
    assert mt.asarray(kept) is kept
    copied = mt.array(x)
    x[0, 0] = 99
    assert copied.to_numpy()[0, 0] != 99
    with pytest.raises(TypeError, match="single number"):
        mt.scalar([1, 2])
