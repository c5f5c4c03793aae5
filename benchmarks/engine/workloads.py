"""What clusters are measured with. A workload gets a started cluster and a size and gives a
function to be timed, and what one run moves or makes: tasks, bytes or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[[], Any]


def uniform(shape: Any) -> np.ndarray:
    return np.random.default_rng(7).random(shape)


def empty_tasks(cluster: Any, size: int) -> Run:
    """Tasks that do next to nothing and do not depend on each other."""
    if cluster.name == "ray":

        @cluster.module.remote
        def nothing() -> None:
            return None

        return lambda: cluster.module.get([nothing.remote() for _ in range(size)])
    if cluster.name == "dask":
        return lambda: cluster.compute(cluster.module.ones(size, chunks=1))
    return lambda: cluster.compute(cluster.module.ones(size, chunk_size=1))


def many_chunks(cluster: Any, size: int) -> Run:
    """(ones + 1).sum() of that many chunks: a graph with a tree."""
    xp = cluster.module
    return lambda: cluster.compute((xp.ones(size, **cluster.options(1)) + 1).sum())


def tree_sum(cluster: Any, size: int) -> Run:
    """The sum of random doubles made where they are summed; size counts bytes."""
    xp = cluster.module
    items = size // 8

    def run() -> Any:
        return cluster.compute(xp.random.random(items, **cluster.options(items // 32)).sum())

    return run


def matmul(cluster: Any, size: int) -> Run:
    """A product of square matrices that are on the workers."""
    a = cluster.array(uniform((size, size)), (size // 4, size // 4))
    b = cluster.array(uniform((size, size)), (size // 4, size // 4))
    return lambda: cluster.compute(cluster.module.matmul(a, b))


def svd(cluster: Any, size: int) -> Run:
    """svd of a tall matrix with 50 columns."""
    x = cluster.array(uniform((size, 50)), (size // 8, 50))
    return lambda: cluster.compute(*cluster.module.linalg.svd(x))


def shuffle(cluster: Any, size: int) -> Run:
    """Chunks of rows become chunks of columns; size counts bytes."""
    side = int((size / 8) ** 0.5) // 16 * 16
    x = cluster.array(uniform((side, side)), (side // 16, side))
    return lambda: cluster.compute(x.rechunk((side, side // 16)))


def big_sum(cluster: Any, size: int) -> Run:
    """Makes more than fits into memory, keeps it, then adds it up; size counts bytes."""
    xp = cluster.module
    items = size // 8

    def run() -> Any:
        kept = cluster.compute(xp.random.random(items, **cluster.options(items // 64)))
        kept = kept[0] if cluster.name == "dask" else kept
        return cluster.compute(kept.sum())

    return run


def sort(cluster: Any, size: int) -> Run:
    """Sorts random doubles; size counts bytes."""
    xp = cluster.module
    items = size // 8
    # Dask has as many pieces as the square of it: fewer where there is less to sort.
    chunks = min(64, size // 2**22)

    def run() -> Any:
        values = xp.random.random(items, **cluster.options(items // chunks))
        return cluster.compute(dask_sort(values) if cluster.name == "dask" else xp.sort(values))

    return run


def dask_sort(values: Any) -> Any:
    """Dask arrays have no sort; so is one written with what they have: each chunk is cut into
    pieces, and those of a range are sorted. The values are uniform, so the cuts are known."""
    import dask
    import dask.array

    count = values.numblocks[0]
    cuts = np.linspace(0, 1, count + 1)[1:-1]

    @dask.delayed(nout=count, pure=False)
    def split(chunk: np.ndarray) -> list[np.ndarray]:
        ordered = np.sort(chunk)
        return np.split(ordered, np.searchsorted(ordered, cuts))

    @dask.delayed(pure=False)
    def merge(pieces: list[np.ndarray]) -> np.ndarray:
        return np.sort(np.concatenate(pieces), kind="stable")

    rows = [split(chunk) for chunk in values.to_delayed()]
    merged = [merge([row[i] for row in rows]) for i in range(count)]
    parts = [dask.array.from_delayed(each, (np.nan,), values.dtype) for each in merged]
    return dask.array.concatenate(parts, allow_unknown_chunksizes=True)


def upload(cluster: Any, size: int) -> Run:
    """From the client to the workers; size counts bytes."""
    values = uniform(size // 8)
    # A view is another array, so that it is sent again.
    return lambda: cluster.array(values[:], size // 64)


def download(cluster: Any, size: int) -> Run:
    """From the workers to the client; size counts bytes."""
    x = cluster.array(uniform(size // 8), size // 64)
    return lambda: cluster.fetch(x)


@dataclass(frozen=True)
class Workload:
    run: Callable[[Any, int], Run]
    size: int
    quick_size: int
    peers: dict[str, float]  #: and the least ratio to each
    memory: float = 0  #: what a worker may keep in memory as a part of the size; 0 for no limit
    per: str = ""  #: "task": the figure is µs per task; "byte": MB/s
    peer_size: int = 0  #: another size for peers, where the figure is one per task
    bound: str = ""  #: what decides how long it takes, as bench_tensor_bounds calls it

    def peer_size_of(self, size: int) -> int:
        return self.peer_size * size // self.size if self.peer_size else size


# Beyond memory: four times what the two workers may keep together.
WORKLOADS = {
    "empty tasks": Workload(
        empty_tasks, 100_000, 10_000, {"dask": 20, "ray": 5}, per="task", peer_size=3_000
    ),
    "many chunks": Workload(many_chunks, 100_000, 3_000, {"dask": 3}, per="task", peer_size=5_000),
    "tree sum": Workload(tree_sum, 2**30, 2**27, {"dask": 3}),
    "matmul": Workload(matmul, 4000, 2400, {"dask": 3}, bound="gemm"),
    "svd": Workload(svd, 1_000_000, 100_000, {"dask": 3}),
    "rechunk": Workload(shuffle, 2**30, 2**27, {"dask": 3}),
    "sort": Workload(sort, 2**29, 2**25, {"dask": 3}),
    "upload": Workload(upload, 2**30, 2**27, {"dask": 3}, per="byte"),
    "download": Workload(download, 2**30, 2**26, {"dask": 3}, per="byte"),
    "sum beyond memory": Workload(big_sum, 2**31, 2**26, {"dask": 3}, memory=0.125),
    "sort beyond memory": Workload(sort, 2**31, 2**26, {"dask": 3}, memory=0.125),
}
