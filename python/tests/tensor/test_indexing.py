"""x[...] and x[...] = ..., and the functions about parts of tensors, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from beside_numpy import DTYPES, SEED, check, samples

import muster.tensor as mt

X = samples((3, 4, 5))
MASK = X % 2 > 1
KEYS: list[Any] = [
    0,
    -1,
    (1, 2),
    (slice(None), -2),
    (Ellipsis, 1),
    None,
    (None, 1, None, slice(1, None)),
    slice(None, None, -1),
    (slice(2, 0, -1), slice(None, None, 2)),
    (slice(None), slice(3, -9, -2)),
    (0, 1, 2),
    slice(1, 1),
    [0, 2],
    ([0, 1], [1, 2]),
    (slice(None), [3, 0, -1]),
    ([0, 1], slice(None), [1, 2]),
    (0, slice(None), [1, 2]),
    (slice(1, None), [1, 2], slice(None, None, -2)),
    (np.array([[0, 1], [2, 0]]),),
    (slice(None), [[0, 1]], [[1], [2]]),
    (None, [1, 0], None),
    ([1], None, [2]),
    ([],),
    MASK,
    MASK[:, 0, 0],
    (slice(None), np.array([1, 0, 1, 1], bool)),
    MASK[..., 0],
    (np.array([1, 0, 1], bool), [0, 1]),
    (0, np.array([1, 0, 1, 1], bool)),
    True,
    False,
]
WRONG: list[Any] = [
    3,
    -4,
    (0, 4),
    [5],
    (slice(None), [9]),
    (slice(None), [-5]),
    (0, 0, 0, 0),
    slice(None, None, 0),
    1.5,
    "a",
    np.array([1, 0], bool),
    ([0, 1], [0, 1, 2]),
    (Ellipsis, Ellipsis),
]


def assigned(a: Any, key: Any, value: Any) -> Any:
    a = a.copy()
    a[key] = value
    return a


@pytest.mark.parametrize("number", range(len(KEYS)))
def test_reads_what_numpy_reads(number: int) -> None:
    key = KEYS[number]
    check(lambda m, a: a[key], X)
    if isinstance(key, np.ndarray):
        check(lambda m, a, k: a[k], X, key)


@pytest.mark.parametrize("number", range(len(KEYS)))
def test_writes_where_numpy_writes(number: int) -> None:
    key = KEYS[number]
    shape = X[key].shape
    check(lambda m, a: assigned(a, key, -7), X)
    check(lambda m, a, v: assigned(a, key, v), X, samples(shape) * 100)
    # NumPy takes leading axes of extent one for all but these.
    if shape and key is not MASK:
        check(lambda m, a, v: assigned(a, key, v), X, samples((1, *shape)) * 100)
    if shape:
        check(lambda m, a, v: assigned(a, key, v), X, samples(shape[1:]) * 100)
    if isinstance(key, np.ndarray):
        check(lambda m, a, k, v: assigned(a, k, v), X, key, samples(shape) * 100)
        check(lambda m, a, k: assigned(a, k, 5), X, key)


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_refuses_what_numpy_refuses(number: int) -> None:
    key = WRONG[number]
    check(lambda m, a: a[key], X)
    check(lambda m, a: assigned(a, key, 1), X)


def test_an_error_names_the_index_and_the_axis() -> None:
    t = mt.tensor(X, chunk_size=2)
    for key in [(0, 7), (slice(None), [1, 7]), (slice(None), mt.tensor([1, 7], chunk_size=1))]:
        with pytest.raises(IndexError, match="index 7 is out of bounds for axis 1 with size 4"):
            t[key].execute()
    with pytest.raises(ValueError, match=r"items of shape \(7,\)"):
        t[0] = np.zeros(7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_keeps_the_dtype(dtype: str) -> None:
    x = samples((5, 6), dtype)
    check(lambda m, a: a[1:, ::-2], x)
    check(lambda m, a: a[[3, 0, 3]], x)
    check(lambda m, a: a[:, [3, 0, 3]], x)
    check(lambda m, a, k: a[k], x, samples((5, 6)) > 4)
    check(lambda m, a, k: a[:, k], x, samples((6,)) > 0)
    check(lambda m, a, v: assigned(a, [1, 3, 1], v), x, samples((3, 6), dtype))


def test_casts_new_items_to_the_dtype() -> None:
    check(lambda m, a: assigned(a, 0, 2.9), samples((3,), "i4"))
    check(lambda m, a, v: assigned(a, slice(None), v), samples((3,), "f4"), samples((3,), "i8"))


def random_key(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    key: list[Any] = []
    length = int(rng.integers(1, 4))
    for extent in shape:
        kind = rng.integers(0, 6)
        if kind == 0:
            key.append(int(rng.integers(-extent, extent)))
        elif kind == 1:
            key.append(rng.integers(-extent, extent, length))
        elif kind == 2:
            key.append(None)
            key.append(slice(None))
        elif kind == 3:
            key.append(slice(None))
        else:
            bounds = rng.integers(-extent - 2, extent + 3, 2)
            key.append(slice(int(bounds[0]), int(bounds[1]), int(rng.choice([-2, -1, 1, 3]))))
    return tuple(key[: int(rng.integers(1, len(key) + 1))])


def test_random_keys() -> None:
    print(f"MUSTER_TEST_SEED={SEED}")
    rng = np.random.default_rng(SEED)
    for _ in range(150):
        shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 5)))
        x, key = samples(shape), random_key(shape, rng)
        t = mt.tensor(x, chunk_size=tuple(int(rng.integers(1, n + 1)) for n in shape))
        np.testing.assert_array_equal(t[key].to_numpy(), x[key], str(key))
        new = samples(x[key].shape) * 10
        want, got = x.copy(), t.copy()
        want[key], got[key] = new, mt.tensor(new, chunk_size=2)
        np.testing.assert_array_equal(got.to_numpy(), want, str(key))


@pytest.mark.here
def test_a_slice_reads_only_the_chunks_it_needs() -> None:
    read: list[int] = []

    def note(chunk: Any) -> Any:
        read.append(chunk.size)
        return chunk

    t = mt.map_chunk(note, mt.ones((100, 100), chunk_size=10), dtype=float, elementwise=True)
    t[5:25, :10].execute()
    assert read.count(100) == 3


def test_sizes_that_nobody_knows() -> None:
    x = samples((6, 7))
    t = mt.tensor(x, chunk_size=(2, 3))
    chosen = t[t > 10]
    assert np.isnan(chosen.shape[0])
    np.testing.assert_array_equal(chosen[::-2][1:5].to_numpy(), x[x > 10][::-2][1:5])
    np.testing.assert_array_equal(t[t > 10][-1].to_numpy(), x[x > 10][-1])
    np.testing.assert_array_equal(t[t > 10][[0, 3]].to_numpy(), x[x > 10][[0, 3]])
    again = t[t > 10]
    np.testing.assert_array_equal(again[again < 20].to_numpy(), x[(x > 10) & (x < 20)])
    rows = t[t[:, 0] > 10]
    np.testing.assert_array_equal(rows[:, ::2].to_numpy(), x[x[:, 0] > 10][:, ::2])
    np.testing.assert_array_equal(t[mt.nonzero(t > 30)].to_numpy(), x[np.nonzero(x > 30)])


FUNCTIONS: list[Any] = [
    lambda m, a: m.take(a, [1, 0]),
    lambda m, a: m.take(a, [[1, 0]], 1),
    lambda m, a: m.take(a, 2, 1),
    lambda m, a: m.take(a, [9, -9], 1, mode="wrap"),
    lambda m, a: m.take(a, [9, -9], 1, mode="clip"),
    lambda m, a: m.take(a, [9], 1),
    lambda m, a: m.compress([1, 0, 1], a, 1),
    lambda m, a: m.compress(a.ravel() > 9, a),
    lambda m, a: m.extract(a > 9, a),
    lambda m, a: m.nonzero(a > 3),
    lambda m, a: m.flatnonzero(a > 3),
    lambda m, a: m.argwhere(a > 33),
    lambda m, a: m.unravel_index(m.flatnonzero(a > 3), (3, 4, 5)),
    lambda m, a: m.unravel_index(7, (3, 4), order="F"),
    lambda m, a: m.choose((a > 30).astype(int), [a, -a]),
    lambda m, a: m.choose([0, 1, 2, 5, 0], [a, -a], mode="clip"),
    lambda m, a: m.choose([0, 1, 2, -5, 0], [a, -a], mode="wrap"),
    lambda m, a: m.choose([0, 1, 2, 5, 0], [a, -a]),
    lambda m, a: m.take_along_axis(a, np.argsort(-X, axis=1), 1),
    lambda m, a: m.take_along_axis(a, np.array([[[1]], [[0]], [[1]]]), 2),
    lambda m, a: m.take_along_axis(a, np.array([3, 1]), None),
    lambda m, a: m.take_along_axis(a, np.array([3, 1]), 0),
    lambda m, a: a.flat[3:9],
    lambda m, a: list(a),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_functions_give_what_numpy_gives(number: int) -> None:
    check(FUNCTIONS[number], X)


def test_changes_in_place() -> None:
    def diagonal(m: Any, a: Any, value: Any, wrap: bool) -> Any:
        a = a.copy()
        m.fill_diagonal(a, value, wrap)
        return a

    def flat(m: Any, a: Any) -> Any:
        a = a.copy()
        a.flat[3:20:4] = 9
        a.flat[1] = -1
        return a

    def along(m: Any, a: Any) -> Any:
        a = a.copy()
        m.put_along_axis(a, np.array([[0], [1], [2], [3]]), -5, 1)
        return a

    for shape in [(4, 6), (9, 4), (4, 4), (3, 3, 3)]:
        check(lambda m, a: diagonal(m, a, 7, False), samples(shape))
        check(lambda m, a: diagonal(m, a, 7, True), samples(shape))
        check(lambda m, a: diagonal(m, a, [1, 2], False), samples(shape))
    check(flat, samples((4, 6)))
    check(along, samples((4, 6)))
