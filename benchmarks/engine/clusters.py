"""Clusters of two workers with one thread each, on this machine: Muster's, Dask's and Ray's.

Each is a context manager that is spoken to alike: `array`, `compute`, `fetch`, `module`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

BUILD = Path(
    os.environ.get("MUSTER_BUILD_DIR", Path(__file__).resolve().parents[2] / "build" / "release")
)
WORKERS = 2


def resident(pids: list[int]) -> int:
    """Bytes of these processes in memory; what they share is counted once."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            continue
        shares = [line.split()[1] for line in text.splitlines() if line.startswith("Pss:")]
        total += sum(map(int, shares)) * 1024
    return total


def descendants(root: int) -> list[int]:
    """A process and all that it started."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [root]
    for pid in found:
        found.extend(parents.get(pid, []))
    return found


class Cluster:
    """`memory`: the bytes of chunks that one worker keeps in memory; 0 for what the system does by
    itself. `spill`: the folder for the rest."""

    name = ""

    def __init__(self, memory: int, spill: str) -> None:
        self.memory = memory
        self.spill = spill

    def __enter__(self) -> Cluster:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def processes(self) -> list[int]:
        """Everything the cluster consists of, the client included."""
        return descendants(os.getpid())

    def settle(self) -> None:
        """What was dropped is gone on the workers too, so that the next run finds them empty."""


class MusterCluster(Cluster):
    """Three roles as a user starts them: `muster local-cluster`."""

    name = "muster"

    def start(self) -> None:
        import muster.tensor
        from muster.session import new_session

        self.module: Any = muster.tensor
        command = [str(BUILD / "bin" / "muster"), "local-cluster", "--workers", str(WORKERS)]
        command += ["--cpu", "1", "--web-port", "0", "--spill-dir", self.spill]
        if self.memory:
            command += ["--cache", str(self.memory)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "http://" in line:
                self.url = "http://" + line.split("http://")[1].split()[0]
                break
        else:
            raise RuntimeError(f"the cluster ended with {self.process.wait()}")
        self.session = new_session(self.url).as_default()
        deadline = time.monotonic() + 30
        while len(self.session.get_cluster_info()["workers"]) < WORKERS:
            if time.monotonic() > deadline:
                raise RuntimeError("the workers did not come")
            time.sleep(0.05)

    def settle(self) -> None:
        """The session releases what it dropped after some milliseconds."""
        time.sleep(0.1)

    def stop(self) -> None:
        self.session.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)

    def array(self, values: np.ndarray, chunks: Any) -> Any:
        """The values on the workers."""
        return self.module.tensor(values, chunk_size=chunks).execute()

    def compute(self, *values: Any) -> Any:
        """Computes; results stay on the workers."""
        import muster

        return muster.execute(*values)

    def fetch(self, value: Any) -> np.ndarray:
        """The items here."""
        return value.fetch()

    def options(self, chunks: Any) -> dict[str, Any]:
        """How functions that make arrays are told their chunks."""
        return {"chunk_size": chunks}


class DaskCluster(Cluster):
    """A LocalCluster of processes, told to move data without the detour through its scheduler."""

    name = "dask"
    #: What a worker takes by itself, which Dask counts as used.
    own_memory = 256 << 20

    def start(self) -> None:
        import dask
        import dask.array
        from distributed import Client, LocalCluster

        dask.config.set({"temporary-directory": self.spill})
        limit: Any = "auto"
        if self.memory:
            limit = int(self.memory / 0.6) + self.own_memory
            dask.config.set({"distributed.worker.memory.target": self.memory / limit})
        self.module: Any = dask.array
        self.cluster = LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=limit,
        )
        self.client = Client(self.cluster, direct_to_workers=True)

    def stop(self) -> None:
        self.client.close()
        self.cluster.close()

    def settle(self) -> None:
        """Dask's workers hear of it with the next message."""
        time.sleep(0.1)

    def array(self, values: np.ndarray, chunks: Any) -> Any:
        """The values on the workers, without the scheduler in between: the fastest way Dask has."""
        from dask.array.core import normalize_chunks, slices_from_chunks

        plan = normalize_chunks(chunks, values.shape, dtype=values.dtype)
        blocks = [np.ascontiguousarray(values[part]) for part in slices_from_chunks(plan)]
        futures = self.client.scatter(blocks, direct=True, hash=False)
        name = f"values-{uuid.uuid4().hex}"
        graph = {
            (name, *index): future
            for index, future in zip(np.ndindex(*map(len, plan)), futures, strict=True)
        }
        return self.module.Array(graph, name, plan, dtype=values.dtype)

    def compute(self, *values: Any) -> Any:
        """Computes; results stay on the workers."""
        from distributed import wait

        kept = self.client.persist(list(values))
        wait(kept)
        return kept

    def fetch(self, value: Any) -> np.ndarray:
        """The items here."""
        return value.compute()

    def options(self, chunks: Any) -> dict[str, Any]:
        """How functions that make arrays are told their chunks."""
        return {"chunks": chunks}


class RayCluster(Cluster):
    """Ray has tasks, but no arrays."""

    name = "ray"

    def start(self) -> None:
        import ray

        self.module: Any = ray
        ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)

    def stop(self) -> None:
        self.module.shutdown()


CLUSTERS = {kind.name: kind for kind in (MusterCluster, DaskCluster, RayCluster)}
