"""Graphs of all sorts from a seed, and what NumPy says of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import muster.tensor as mt

Rng = np.random.Generator


@dataclass
class Graph:
    """A lazy tensor, its name for messages, and its value."""

    name: str
    tensor: Any
    expected: np.ndarray

    def check(self) -> None:
        """Of the executed tensor."""
        got = self.tensor.fetch()
        np.testing.assert_allclose(got, self.expected, rtol=1e-9, err_msg=self.name)


def _matrix(rng: Rng, most: int = 400) -> tuple[np.ndarray, Any]:
    """Whole numbers, so that sums do not depend on their order."""
    shape = tuple(int(n) for n in rng.integers(50, most, 2))
    values = rng.integers(-9, 10, shape).astype("f8")
    chunks = [int(rng.integers(20, n + 1)) for n in shape]
    return values, mt.tensor(values, chunk_size=chunks)


def chain(rng: Rng) -> Graph:
    x, t = _matrix(rng)
    return Graph("chain", ((t * 2 + 1) * t - t).sum(axis=0), ((x * 2 + 1) * x - x).sum(axis=0))


def product(rng: Rng) -> Graph:
    x, t = _matrix(rng)
    return Graph("product", mt.dot(t, t.T), x @ x.T)


def inner_of_ones(rng: Rng) -> Graph:
    n, chunk = int(rng.integers(100, 400)), int(rng.integers(30, 200))
    ones = mt.ones((n, n), chunk_size=chunk)
    return Graph("inner of ones", mt.inner(ones, ones), np.full((n, n), float(n)))


def shuffle(rng: Rng) -> Graph:
    x, t = _matrix(rng)
    rows, columns = x.shape
    there = t.rechunk((rows, max(columns // 5, 1)))
    return Graph("shuffle", there.T.rechunk((columns, max(rows // 5, 1))) + 0, x.T)


def chosen(rng: Rng) -> Graph:
    """Sizes that are known only once it has run."""
    x, t = _matrix(rng)
    return Graph("chosen", t[t > 3] * 2, x[x > 3] * 2)


def distinct(rng: Rng) -> Graph:
    x, t = _matrix(rng)
    return Graph("distinct", mt.unique(t[t != 0]), np.unique(x[x != 0]))


def sorted_items(rng: Rng) -> Graph:
    values = rng.permutation(int(rng.integers(1000, 100_000))).astype("f8")
    tensor = mt.tensor(values, chunk_size=int(rng.integers(500, 20_000)))
    return Graph("sort", mt.sort(tensor), np.sort(values))


def running_sum(rng: Rng) -> Graph:
    x, t = _matrix(rng)
    return Graph("cumsum", mt.cumsum(t, axis=1), np.cumsum(x, axis=1))


def statistics(rng: Rng) -> Graph:
    x, t = _matrix(rng)
    return Graph("var", mt.stack([t.mean(axis=0), t.var(axis=0)]), np.stack([x.mean(0), x.var(0)]))


SORTS: list[Callable[[Rng], Graph]] = [
    *[chain, product, inner_of_ones, shuffle, chosen],
    *[distinct, sorted_items, running_sum, statistics],
]


def some(rng: Rng, count: int) -> list[Graph]:
    return [SORTS[int(rng.integers(len(SORTS)))](rng) for _ in range(count)]
