"""Fourier transforms, against numpy.fft."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import muster.tensor as mt
from muster.tensor._call import constant


def chunked(rng: np.random.Generator, array: Any) -> mt.Tensor:
    return constant(array, chunk_size=[int(rng.integers(1, n + 1)) for n in array.shape])


def close(got: mt.Tensor, wanted: Any) -> None:
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-5, atol=1e-5)


ONE_AXIS = [
    (name, dtype)
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    for dtype in ("f4", "f8", "i4", "c8", "c16")
    if name not in ("rfft", "ihfft") or not dtype.startswith("c")  # those are of real items only
]


@pytest.mark.parametrize(("name", "dtype"), ONE_AXIS)
def test_one_axis(name: str, dtype: str, rng: np.random.Generator) -> None:
    a = (rng.random((6, 5, 9)) * 10).astype(dtype)
    ours, numpys = getattr(mt.fft, name), getattr(np.fft, name)
    for axis in (-1, 0, 1):
        for n in (None, 4, 12):
            for norm in (None, "ortho", "forward"):
                close(ours(chunked(rng, a), n, axis, norm), numpys(a, n, axis, norm))


@pytest.mark.parametrize("name", ["fft2", "ifft2", "fftn", "ifftn"])
@pytest.mark.parametrize("real", ["", "r"])
def test_several_axes(name: str, real: str, rng: np.random.Generator) -> None:
    if real:
        name = name.replace("fft", "rfft")
    a = rng.random((6, 5, 8))
    ours, numpys = getattr(mt.fft, name), getattr(np.fft, name)
    close(ours(chunked(rng, a)), numpys(a))
    close(ours(chunked(rng, a), axes=(0, 1)), numpys(a, axes=(0, 1)))
    close(ours(chunked(rng, a), s=(4, 7), axes=(2, 0)), numpys(a, s=(4, 7), axes=(2, 0)))


def test_many_rows_are_shared_by_threads(rng: np.random.Generator) -> None:
    a = rng.random((64, 512))
    got = mt.fft.fft(constant(a))
    close(got, np.fft.fft(a))


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_frequencies(n: int) -> None:
    close(mt.fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5))
    close(mt.fft.rfftfreq(n, 0.5, chunk_size=2), np.fft.rfftfreq(n, 0.5))


def test_shifts(rng: np.random.Generator) -> None:
    a = rng.random((5, 6))
    for axes in (None, 0, (0, 1), -1):
        close(mt.fft.fftshift(chunked(rng, a), axes), np.fft.fftshift(a, axes))
        close(mt.fft.ifftshift(chunked(rng, a), axes), np.fft.ifftshift(a, axes))


def test_wrong_use_is_named() -> None:
    with pytest.raises(ValueError, match="without axes"):
        mt.fft.fft(1.0)
    with pytest.raises(IndexError):
        mt.fft.fft(np.ones(3), axis=2)
    with pytest.raises(ValueError, match="number of"):
        mt.fft.fft(np.ones(3), n=0)
    with pytest.raises(ValueError, match="lengths"):
        mt.fft.fftn(np.ones((3, 3)), s=(2,), axes=(0, 1))
    with pytest.raises(TypeError):
        mt.fft.rfft(np.ones(3, complex))
