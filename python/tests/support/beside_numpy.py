"""Runs an expression with NumPy and with tensors in several chunkings, and compares."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

import muster.tensor as mt

SEED = int(os.environ.get("MUSTER_TEST_SEED", "1"))
DTYPES = ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "M8[s]", "m8[ns]"]
CHUNKS = (None, 1, 3)

Module = Any
Expression = Callable[..., Any]


def samples(shape: tuple[int, ...], dtype: str = "f8") -> np.ndarray[Any, Any]:
    """Distinct items where the dtype has enough of them."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return (numbers * 7 % 3 == 1).astype(kind)
    if kind.kind in "iuMm":
        return (numbers % 100).astype(kind)
    return (numbers - 3.5).astype(kind)


def check(expression: Expression, *arrays: Any, chunks: Any = CHUNKS) -> None:
    """Both give the same items, dtypes and shapes, or an error of the same kind."""
    try:
        want, refused = expression(np, *arrays), None
    except Exception as error:
        want, refused = None, error
    for chunk_size in chunks:
        tensors = [
            mt.tensor(each, chunk_size=chunk_size) if isinstance(each, np.ndarray) else each
            for each in arrays
        ]
        try:
            got = _computed(expression(mt, *tensors))
        except Exception as error:
            if refused is None or not _alike(error, refused):
                raise
            continue
        assert refused is None, f"NumPy refuses: {refused!r}; chunk_size={chunk_size}"
        _compare(got, want, chunk_size)


def _alike(error: Exception, refused: Exception) -> bool:
    return isinstance(error, type(refused)) or isinstance(refused, type(error))


def _computed(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_computed(each) for each in value]
    return value.to_numpy() if isinstance(value, mt.Tensor) else value


def _compare(got: Any, want: Any, chunk_size: Any) -> None:
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            _compare(one, other, chunk_size)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"{got.dtype} is not {want.dtype}; chunk_size={chunk_size}"
    assert got.shape == want.shape, f"{got.shape} is not {want.shape}; chunk_size={chunk_size}"
    if want.dtype.kind in "fc":
        np.testing.assert_allclose(got, want, rtol=1e-13 if want.dtype in ("f8", "c16") else 1e-3)
    else:
        np.testing.assert_array_equal(got, want)
