"""What is measured: each case written for Muster, NumPy and, where it has the operation, Dask.

A case gets a size and a system (`muster.tensor`, `numpy` or `dask.array`) and gives a function
to be timed. Making the input is not part of the time unless the case says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Run = Callable[[], Any]


class System:
    """How one of the systems is spoken to."""

    def __init__(self, name: str) -> None:
        self.name = name
        if name == "numpy":
            self.module: Any = np
        elif name == "dask":
            import dask.array

            self.module = dask.array
        else:
            import muster.tensor

            self.module = muster.tensor

    def array(self, values: np.ndarray, chunks: Any = None) -> Any:
        """The values as the system's array."""
        if self.name == "numpy":
            return values
        if self.name == "dask":
            return self.module.from_array(values, chunks=chunks or "auto", name=False)
        return self.module.tensor(values, chunk_size=chunks)

    def compute(self, *values: Any) -> Any:
        """Computes lazy values; keeps the result in memory."""
        if self.name == "dask":
            import dask

            return dask.compute(*values)
        if self.name == "muster":
            import muster

            return muster.execute(*values)
        return values

    def options(self, chunks: Any) -> dict[str, Any]:
        """How functions that make arrays are told their chunks."""
        if self.name == "numpy":
            return {}
        return {"chunks": chunks or "auto"} if self.name == "dask" else {"chunk_size": chunks}


def uniform(shape: Any) -> np.ndarray:
    return np.random.default_rng(7).random(shape)


def chain(system: System, size: int) -> Run:
    """((sin(x)**2 + cos(x)**2) * x).sum()"""
    x = system.array(uniform(size))
    xp = system.module
    return lambda: system.compute(((xp.sin(x) ** 2 + xp.cos(x) ** 2) * x).sum())


def pi(system: System, size: int) -> Run:
    """Monte-Carlo pi: making the points is part of it."""
    xp = system.module

    def run() -> Any:
        points = xp.random.uniform(-1, 1, size=(size, 2))
        return system.compute((xp.linalg.norm(points, axis=1) < 1).sum())

    return run


def black_scholes(system: System, size: int) -> Run:
    """Prices of calls and puts of European options."""
    xp = system.module
    values = np.random.default_rng(7)
    price = system.array(values.uniform(10, 50, size))
    strike = system.array(values.uniform(10, 50, size))
    years = system.array(values.uniform(1, 2, size))

    def normal(x: Any) -> Any:
        # The logistic approximation of the normal distribution: ufuncs that all three systems have.
        return 1 / (1 + xp.exp(-1.5976 * x - 0.07056 * x**3))

    def run() -> Any:
        rate, volatility = 0.1, 0.2
        spread = volatility * xp.sqrt(years)
        up = (xp.log(price / strike) + (rate + volatility**2 / 2) * years) / spread
        down = up - spread
        today = strike * xp.exp(-rate * years)
        call = price * normal(up) - today * normal(down)
        put = today * normal(-down) - price * normal(-up)
        return system.compute(call, put)

    return run


def reduction(function: str, axis: int | None) -> Callable[[System, int], Run]:
    """sum, mean or std over an axis; size counts bytes."""

    def case(system: System, size: int) -> Run:
        x = system.array(uniform((int((size / 8) ** 0.5),) * 2))
        return lambda: system.compute(getattr(system.module, function)(x, axis=axis))

    return case


def matmul(system: System, size: int) -> Run:
    """A product of square matrices."""
    a, b = system.array(uniform((size, size))), system.array(uniform((size, size)))
    return lambda: system.compute(system.module.matmul(a, b))


def inner(system: System, size: int) -> Run:
    """inner of ones with chunks of 200."""
    xp = system.module
    chunks = 200 if system.name != "dask" else (200, 200)

    def run() -> Any:
        a = xp.ones((size, size), **system.options(chunks))
        return system.compute(xp.dot(a, a.T) if system.name == "dask" else xp.inner(a, a))

    return run


def svd(system: System, size: int) -> Run:
    """svd of a tall matrix with 50 columns."""
    x = system.array(
        uniform((size, 50)), None if system.name == "numpy" else (max(size // 8, 50), 50)
    )
    options = {"full_matrices": False} if system.name == "numpy" else {}
    return lambda: system.compute(*system.module.linalg.svd(x, **options))


def sort(system: System, size: int) -> Run:
    """sort of random doubles."""
    x = system.array(uniform(size))
    return lambda: system.compute(system.module.sort(x))


def filter_unique(system: System, size: int) -> Run:
    """Boolean filter, then unique, of integers below 1,000."""
    x = system.array(np.random.default_rng(7).integers(0, 1000, size))
    return lambda: system.compute(system.module.unique(x[x > 500]))


def transpose(system: System, size: int) -> Run:
    """A transposed matrix, its items moved; size counts bytes."""
    side = int((size / 8) ** 0.5)
    chunks = None if system.name == "numpy" else (side, max(side // 8, 1))
    x = system.array(uniform((side, side)), chunks)
    if system.name == "numpy":
        return lambda: np.ascontiguousarray(x.T)
    if system.name == "dask":
        return lambda: system.compute(x.T.rechunk((side, max(side // 8, 1))))
    return lambda: system.compute(x.T.rechunk((side, max(side // 8, 1))))


#: Name: case, size, size with --quick, the peers, and the least ratio to NumPy (to Dask it is 3).
CASES: dict[str, tuple[Callable[[System, int], Run], int, int, list[str], float]] = {
    "fused chain": (chain, 100_000_000, 5_000_000, ["numpy", "dask"], 5),
    "Monte-Carlo pi": (pi, 200_000_000, 5_000_000, ["numpy", "dask"], 6),
    "Black-Scholes": (black_scholes, 50_000_000, 1_000_000, ["numpy", "dask"], 2.2),
    "sum": (reduction("sum", None), 10**9, 10**8, ["numpy", "dask"], 0),
    "sum axis 0": (reduction("sum", 0), 10**9, 10**8, ["numpy", "dask"], 0),
    "sum axis 1": (reduction("sum", 1), 10**9, 10**8, ["numpy", "dask"], 0),
    "mean": (reduction("mean", None), 10**9, 10**8, ["numpy", "dask"], 0),
    "std": (reduction("std", None), 10**9, 10**8, ["numpy", "dask"], 0),
    "std axis 0": (reduction("std", 0), 10**9, 10**8, ["numpy", "dask"], 0),
    "std axis 1": (reduction("std", 1), 10**9, 10**8, ["numpy", "dask"], 0),
    "matmul": (matmul, 4000, 1500, ["numpy", "dask"], 0.9),
    "inner of ones": (inner, 2000, 1000, ["numpy", "dask"], 0),
    "svd": (svd, 1_000_000, 50_000, ["numpy", "dask"], 0),
    "sort": (sort, 100_000_000, 5_000_000, ["numpy"], 0),
    "filter, unique": (filter_unique, 100_000_000, 5_000_000, ["numpy", "dask"], 0),
    "transpose": (transpose, 2 * 2**30, 2**27, ["numpy", "dask"], 0),
}

#: What bounds a case: reading memory with all cores, or a call of BLAS on all of them.
BOUNDS: dict[str, str] = {
    "sum": "read",
    "sum axis 0": "read",
    "sum axis 1": "read",
    "mean": "read",
    "matmul": "gemm",
    "inner of ones": "syrk",
}


def square_bytes(side: int, count: int) -> int:
    return count * 8 * side * side


#: The live data of a case by its size, in bytes: inputs that the caller holds, and the results.
#: What lies between the two, such as filtered items, does not count. `inner of ones` makes its
#: input and needs it whole. Monte-Carlo pi is not here: it holds nothing before, one number after.
LIVE: dict[str, Callable[[int], int]] = {
    "fused chain": lambda items: 8 * items,
    "Black-Scholes": lambda items: 5 * 8 * items,
    "sum": lambda size: size,
    "sum axis 0": lambda size: size,
    "sum axis 1": lambda size: size,
    "mean": lambda size: size,
    "std": lambda size: size,
    "std axis 0": lambda size: size,
    "std axis 1": lambda size: size,
    "matmul": lambda side: square_bytes(side, 3),
    "inner of ones": lambda side: square_bytes(side, 2),
    "svd": lambda rows: 2 * 50 * 8 * rows,
    "sort": lambda items: 2 * 8 * items,
    "filter, unique": lambda items: 8 * items,
    "transpose": lambda size: 2 * size,
}
