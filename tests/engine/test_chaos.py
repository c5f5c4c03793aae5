"""Roles are killed and stopped at random moments while graphs of all sorts are computed."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import numpy as np
import pytest

from muster.session import new_session
from tests.engine.cluster import Cluster
from tests.engine.graphs import some

SEED = int(os.environ.get("MUSTER_TEST_SEED", "1"))


class Trouble:
    """A thread that troubles one role after another, and leaves all of them running at its end."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._chance = random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.done: list[str] = []
        self.failure: BaseException | None = None

    def __enter__(self) -> Trouble:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(120)

    def _run(self) -> None:
        try:
            while not self._over.wait(self._chance.uniform(0.2, 1.5)):
                self._one()
        except BaseException as error:
            self.failure = error

    def _one(self) -> None:
        role = self._chance.choice(["worker", "worker", "worker", "scheduler", "web"])
        how = self._chance.choice(["kill", "stop"])
        name = self._chance.choice(sorted(self._cluster.workers))
        self.done.append(f"{how} {name if role == 'worker' else role}")
        if how == "stop":
            self._stop(role, name)
        elif role == "worker":
            self._cluster.workers[name].kill()
            self._cluster.start_worker(name)
        elif role == "scheduler":
            self._cluster.scheduler.kill()
            self._cluster.start_scheduler()
        else:
            self._cluster.web.kill()
            self._cluster.start_web()

    def _stop(self, role: str, name: str) -> None:
        cluster = self._cluster
        process = {"scheduler": cluster.scheduler, "web": cluster.web}.get(
            role, cluster.workers[name]
        )
        process.signal(signal.SIGSTOP)
        # Shorter and longer than the lease.
        time.sleep(self._chance.uniform(0.05, 2.5))
        process.signal(signal.SIGCONT)


def chaos(cluster: Cluster, *, runs: int, troubles: int) -> None:
    """At least so many runs, and at least so many troubles meanwhile."""
    print(f"MUSTER_TEST_SEED={SEED}")
    rng = np.random.default_rng(SEED)
    spill = str(cluster.spill_dir())
    cluster.start_scheduler()
    cluster.start_web()
    for index in range(3):
        cluster.start_worker(f"w{index}", "--cpu", "1", "--cache", "8m", "--spill-dir", spill)
    cluster.wait_for_workers(3)
    with new_session(cluster.url) as session, Trouble(cluster, SEED) as trouble:
        run = 0
        while run < runs or (len(trouble.done) < troubles and trouble.failure is None):
            run += 1
            graphs = some(rng, int(rng.integers(1, 4)))
            try:
                session.execute(*(graph.tensor for graph in graphs), timeout=120)
                for graph in graphs:
                    graph.check()
            except BaseException as error:
                names = [graph.name for graph in graphs]
                raise AssertionError(
                    f"seed {SEED}, run {run} of {names}, after {trouble.done[-5:]}: {error}\n"
                    + cluster.text()
                ) from error
    assert trouble.failure is None, f"seed {SEED}: {trouble.failure}\n{cluster.text()}"
    print(f"{run} runs, {len(trouble.done)} troubles")
    cluster.stop()
    assert cluster.leftovers() == []


@pytest.mark.timeout(300)
def test_results_are_right_although_roles_are_killed_and_stopped(bare_cluster: Cluster) -> None:
    chaos(bare_cluster, runs=10, troubles=6)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_runs(bare_cluster: Cluster) -> None:
    chaos(bare_cluster, runs=200, troubles=100)
