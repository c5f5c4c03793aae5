"""Clusters of real processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engine.cluster import Cluster, new_secret


@pytest.fixture
def bare_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Nothing runs yet. Sessions of this process find the token of its web role."""
    cluster = Cluster(tmp_path)
    monkeypatch.setenv("MUSTER_RUNTIME_DIR", cluster.env["MUSTER_RUNTIME_DIR"])
    monkeypatch.delenv("MUSTER_TOKEN", raising=False)
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def cluster_of(bare_cluster: Cluster) -> Callable[..., Cluster]:
    """`cluster_of(2)`: a cluster with so many workers; more arguments are theirs."""

    def start(workers: int, *arguments: str) -> Cluster:
        bare_cluster.start_scheduler()
        bare_cluster.start_web()
        for index in range(workers):
            bare_cluster.start_worker(f"w{index}", *arguments, wait=False)
        bare_cluster.wait_for_workers(workers)
        return bare_cluster

    return start


@pytest.fixture
def secret_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Nothing runs yet; all roles share a secret, and so does this process."""
    cluster = Cluster(tmp_path, secret=new_secret())
    for name in ("MUSTER_RUNTIME_DIR", "MUSTER_SECRET"):
        monkeypatch.setenv(name, cluster.env[name])
    try:
        yield cluster
    finally:
        cluster.stop()
