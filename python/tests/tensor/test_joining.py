"""Tensors put together, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from beside_numpy import DTYPES, check, samples

import muster.tensor as mt

EXPRESSIONS = [
    lambda m, a: m.concatenate([a, a], 1),
    lambda m, a: m.concatenate([a, a[:1]]),
    lambda m, a: m.concatenate([a[:0], a, a[:0]]),
    lambda m, a: m.concatenate([a, a], None),
    lambda m, a: m.concatenate([a, a[:, :1]]),
    lambda m, a: m.concatenate([a, a[0]]),
    lambda m, a: m.concatenate([a, a], 3),
    lambda m, a: m.concatenate([]),
    lambda m, a: m.concatenate([a[0, 0, 0], a[0, 0, 0]]),
    lambda m, a: m.stack([a, a, a], -1),
    lambda m, a: m.stack([a, a], 1),
    lambda m, a: m.stack([a, a[:1]]),
    lambda m, a: m.hstack([a, a]),
    lambda m, a: m.hstack([a[0, 0], a[0, 1], a[0, 0, 0]]),
    lambda m, a: m.vstack([a[0, 0], a[0, 1]]),
    lambda m, a: m.dstack([a[0, 0], a[0, 1]]),
    lambda m, a: m.column_stack([a[0, 0], a[1, 1]]),
    lambda m, a: m.column_stack([a[0], a[1]]),
    lambda m, a: m.append(a, a[:1], 0),
    lambda m, a: m.append(a, a),
    lambda m, a: m.block([[a[0], a[1]], [a[2], a[0]]]),
    lambda m, a: m.block([a[0, 0], a[0, 1]]),
    lambda m, a: m.block([[a[0], a[1]], [a[2]]]),
    lambda m, a: m.c_[a[0], a[1]],
    lambda m, a: m.c_[a[0, 0], a[1, 1]],
    lambda m, a: m.r_["1,2", a[0], a[1]],
    lambda m, a: m.r_["0,2,0", a[0, 0], a[1, 1]],
]


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_gives_what_numpy_gives(number: int) -> None:
    check(EXPRESSIONS[number], samples((3, 4, 5)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_keeps_the_dtype(dtype: str) -> None:
    check(lambda m, a: m.concatenate([a, a], 1), samples((3, 4), dtype))


def test_promotes_dtypes() -> None:
    check(lambda m, a, b: m.concatenate([a, b]), samples((3,), "i4"), samples((2,), "f4"))
    check(lambda m, a, b: m.stack([a, b]), samples((3,), "?"), samples((3,), "i8"))
    check(lambda m, a: m.r_[a, 1, 2:5, 3.5], samples((3,), "i4"))
    check(lambda m, a: m.concatenate([a, a], dtype="f4"), samples((3,), "i4"))


def test_joins_parts_whose_sizes_nobody_knows() -> None:
    x = samples((6, 5))
    t = mt.tensor(x, chunk_size=2)
    mask = x[:, 0] > 3
    rows = t[mt.tensor(mask, chunk_size=2)]
    assert np.array_equal(mt.concatenate([rows, rows], 1).to_numpy(), np.c_[x[mask], x[mask]])
    assert np.array_equal(mt.concatenate([rows, t]).to_numpy(), np.concatenate([x[mask], x]))


def test_many_small_parts_make_few_chunks() -> None:
    parts = [mt.ones(3) * number for number in range(600)]
    joined = mt.concatenate(parts).execute()
    assert len(joined._handle.nsplits[0]) < 100
    assert np.array_equal(joined.to_numpy(), np.repeat(np.arange(600.0), 3))
