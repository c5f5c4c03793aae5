"""Tensors in other shapes, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from beside_numpy import DTYPES, SEED, check, samples

import muster.tensor as mt

EXPRESSIONS: list[Any] = [
    lambda m, a: m.transpose(a),
    lambda m, a: m.transpose(a, (1, 2, 0)),
    lambda m, a: m.transpose(a, (1, 1, 0)),
    lambda m, a: a.T,
    lambda m, a: m.swapaxes(a, 0, -1),
    lambda m, a: m.swapaxes(a, 0, 3),
    lambda m, a: m.moveaxis(a, 0, -1),
    lambda m, a: m.moveaxis(a, (0, 1), (2, 0)),
    lambda m, a: m.rollaxis(a, 2),
    lambda m, a: m.rollaxis(a, 0, 3),
    lambda m, a: m.expand_dims(a, (0, 2)),
    lambda m, a: m.squeeze(m.expand_dims(a, 1)),
    lambda m, a: m.squeeze(a, 0),
    lambda m, a: m.ravel(a),
    lambda m, a: a.flatten("F"),
    lambda m, a: m.broadcast_to(a, (2, 3, 4, 5)),
    lambda m, a: m.broadcast_to(a, (2, 3, 4)),
    lambda m, a: m.broadcast_arrays(a, a[0], a[:1, :, :1]),
    lambda m, a: m.atleast_3d(a[0]),
    lambda m, a: m.atleast_3d(a[0, 0]),
    lambda m, a: m.atleast_2d(a[0, 0]),
    lambda m, a: m.atleast_1d(a[0, 0, 0], a),
    lambda m, a: m.flip(a),
    lambda m, a: m.flip(a, (0, 2)),
    lambda m, a: m.flipud(a),
    lambda m, a: m.fliplr(a),
    lambda m, a: m.fliplr(a[0, 0]),
    lambda m, a: m.roll(a, 7),
    lambda m, a: m.roll(a, (1, -2), (0, 2)),
    lambda m, a: m.roll(a, 1, (0, 1)),
    lambda m, a: m.roll(a, (1, 1), 0),
    lambda m, a: m.repeat(a, 3),
    lambda m, a: m.repeat(a, 3, 1),
    lambda m, a: m.repeat(a, [1, 0, 2], 0),
    lambda m, a: m.repeat(a, 0, 0),
    lambda m, a: m.repeat(a, [1, 2], 0),
    lambda m, a: m.tile(a, 2),
    lambda m, a: m.tile(a, (2, 1, 3, 2)),
    lambda m, a: m.tile(a, (0, 2)),
    lambda m, a: m.rot90(a),
    lambda m, a: m.rot90(a, 3, (1, 2)),
    lambda m, a: m.rot90(a, 2),
    lambda m, a: m.array_split(a, 3, 1),
    lambda m, a: m.split(a, 2, 1),
    lambda m, a: m.split(a, 3, 1),
    lambda m, a: m.split(a, [1, 3], 2),
    lambda m, a: m.hsplit(a, 2),
    lambda m, a: m.vsplit(a, 3),
    lambda m, a: m.dsplit(a, [1]),
    lambda m, a: m.insert(a, 1, 5, 0),
    lambda m, a: m.insert(a, [1, 3], 7, 2),
    lambda m, a: m.insert(a, 2, [1, 2, 3]),
    lambda m, a: m.delete(a, 1, 0),
    lambda m, a: m.delete(a, [0, 2], 2),
    lambda m, a: m.delete(a, slice(0, 3)),
    lambda m, a: m.delete(a, 9, 0),
    lambda m, a: m.diff(a),
    lambda m, a: m.diff(a, 2, 0),
    lambda m, a: m.diff(a, prepend=0, append=9),
    lambda m, a: m.diff(a > 20, axis=1),
    lambda m, a: m.ediff1d(a),
    lambda m, a: m.ediff1d(a, to_end=[1, 2], to_begin=9),
    lambda m, a: m.trapezoid(a),
    lambda m, a: m.trapezoid(a, dx=0.5, axis=0),
    lambda m, a: m.trapezoid(a, [0, 1, 3], axis=0),
    lambda m, a: m.pad(a, 1),
    lambda m, a: m.pad(a, ((1, 2), (0, 1), (3, 0)), constant_values=4),
    lambda m, a: m.pad(a, 2, mode="edge"),
    lambda m, a: m.pad(a, 2, mode="reflect"),
    lambda m, a: m.pad(a, 5, mode="symmetric"),
    lambda m, a: m.pad(a, 3, mode="wrap"),
    lambda m, a: m.pad(a, 2, mode="linear_ramp", end_values=3),
    lambda m, a: m.pad(a, 2, mode="mean"),
    lambda m, a: m.pad(a, 2, mode="maximum", stat_length=2),
    lambda m, a: m.pad(a, 2, mode="reflect", reflect_type="odd"),
    lambda m, a: m.pad(a, -1),
    lambda m, a: m.pad(a, 1, mode="sideways"),
    lambda m, a: (m.ndim(a), m.shape(a), m.size(a, 1)),
]


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_gives_what_numpy_gives(number: int) -> None:
    check(EXPRESSIONS[number], samples((3, 4, 5)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_keeps_the_dtype(dtype: str) -> None:
    x = samples((4, 6), dtype)
    check(lambda m, a: m.transpose(a), x)
    check(lambda m, a: a.reshape(3, 8), x)
    check(lambda m, a: m.roll(a, 3), x)
    check(lambda m, a: m.tile(a, 2), x)


def shapes_of(items: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Some shape with so many items."""
    shape = []
    while items > 1 and len(shape) < 4:
        divisors = [n for n in range(1, items + 1) if items % n == 0]
        shape.append(int(rng.choice(divisors)))
        items //= shape[-1]
    return (*shape, items)


def test_reshapes_any_chunks_to_any_shape() -> None:
    print(f"MUSTER_TEST_SEED={SEED}")
    rng = np.random.default_rng(SEED)
    for _ in range(150):
        items = int(rng.choice([0, 1, 12, 24, 60, 64, 90]))
        before, after = shapes_of(items, rng), shapes_of(items, rng)
        x = samples(before)
        chunk_size = tuple(int(rng.integers(1, extent + 2)) for extent in before)
        order = str(rng.choice(["C", "F"]))
        got = mt.tensor(x, chunk_size=chunk_size).reshape(after, order=order).to_numpy()
        where = f"{before} in {chunk_size} to {after} in order {order}"
        np.testing.assert_array_equal(got, x.reshape(after, order=order), where)


def test_rechunks_any_chunks_to_any() -> None:
    print(f"MUSTER_TEST_SEED={SEED}")
    rng = np.random.default_rng(SEED)
    for _ in range(100):
        shape = tuple(int(n) for n in rng.integers(0, 9, rng.integers(0, 4)))
        x = samples(shape)
        sizes = [tuple(int(rng.integers(1, n + 2)) for n in shape) for _ in range(2)]
        t = mt.tensor(x, chunk_size=sizes[0]).T.rechunk(sizes[1][::-1]).execute()
        np.testing.assert_array_equal(t.to_numpy(), x.T, f"{shape}: {sizes}")
        assert all(
            max(extents, default=0) <= size
            for extents, size in zip(t._handle.nsplits, sizes[1][::-1], strict=True)
        )


def test_rechunks_some_axes() -> None:
    t = mt.ones((6, 8), chunk_size=2)
    assert t.rechunk({1: 4}).execute()._handle.nsplits == ((2, 2, 2), (4, 4))
    assert t.rechunk((6, None)).execute()._handle.nsplits == ((6,), (2, 2, 2, 2))
    with pytest.raises(ValueError, match="chunk_size"):
        t.rechunk(0)


def test_rechunks_in_steps_when_pieces_would_be_many() -> None:
    x = samples((300, 200))
    t = mt.tensor(x, chunk_size=(1, 200)).rechunk((300, 1))
    np.testing.assert_array_equal(t.to_numpy(), x)


@pytest.mark.parametrize(
    ("before", "after"),
    [((3, 4), (5, 2)), ((6,), (-1, -1)), ((6,), (-1, 4)), ((0,), (-1, 0))],
)
def test_refuses_shapes_that_do_not_fit(before: Any, after: Any) -> None:
    check(lambda m, a: a.reshape(after), samples(before))


def test_works_on_tensors_whose_sizes_nobody_knows() -> None:
    x = samples((6, 4))
    mask = x[:, 0] > 3
    rows = mt.tensor(x, chunk_size=2)[mt.tensor(mask, chunk_size=2)]
    want = x[mask]
    for expression in (
        lambda m, a: a.T,
        lambda m, a: a.reshape(-1),
        lambda m, a: m.expand_dims(a, 0),
        lambda m, a: m.flip(a),
        lambda m, a: m.roll(a, 1, 0),
        lambda m, a: m.tile(a, 2),
        lambda m, a: m.repeat(a, 2, 0),
        lambda m, a: m.diff(a, axis=0),
        lambda m, a: m.zeros_like(a),
    ):
        fresh = mt.Tensor(rows._handle)
        np.testing.assert_array_equal(expression(mt, fresh).to_numpy(), expression(np, want))
        rows = mt.tensor(x, chunk_size=2)[mt.tensor(mask, chunk_size=2)]


def test_copies_do_not_change_with_the_original() -> None:
    t = mt.zeros(3)
    other = t.copy()
    t[0] = 1
    assert other.to_numpy().tolist() == [0, 0, 0]
    assert t.to_numpy().tolist() == [1, 0, 0]
    assert t.nbytes == 24
