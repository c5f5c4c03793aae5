"""kill -9, SIGSTOP and SIGTERM of every role while something is computed. Random moments come from
a printed seed (MUSTER_TEST_SEED)."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import muster.tensor as mt
from muster.session import new_session
from tests.engine.cluster import Cluster

pytestmark = pytest.mark.timeout(300)

SEED = int(os.environ.get("MUSTER_TEST_SEED", "1"))


class Work:
    """A computation long enough to be disturbed, and what NumPy says about it."""

    def __init__(self, seed: int, rounds: int = 6) -> None:
        self.values = np.random.default_rng(seed).random((600, 600))
        expected = self.values
        made = mt.tensor(self.values, chunk_size=100)
        for _ in range(rounds):
            expected = expected @ expected / np.abs(expected).max()
            made = mt.dot(made, made) / mt.abs(made).max()
        self.tensor = made
        self.expected = expected

    def check(self, session: object) -> None:
        np.testing.assert_allclose(session.fetch(self.tensor), self.expected, rtol=1e-9)


def disturbed(cluster: Cluster, disturb: Callable[[], None], *, seed: int = SEED) -> None:
    """Computes while `disturb` runs, again and again until it is through; all results are right."""
    session = new_session(cluster.url)
    over = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            disturb()
        except BaseException as error:  # for the main thread
            failures.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        rounds = 0
        while rounds == 0 or not over.is_set():
            work = Work(seed + rounds)
            session.execute(work.tensor)
            work.check(session)
            rounds += 1
    finally:
        thread.join(120)
    assert not failures, f"seed {SEED}: {failures[0]}\n{cluster.text()}"


@pytest.fixture
def chance() -> random.Random:
    print(f"MUSTER_TEST_SEED={SEED}")
    return random.Random(SEED)


def test_a_worker_is_killed_and_comes_back(cluster_of, chance):
    cluster = cluster_of(2)

    def disturb() -> None:
        for _ in range(3):
            time.sleep(chance.uniform(0.05, 0.6))
            name = chance.choice(sorted(cluster.workers))
            cluster.workers[name].kill()
            cluster.start_worker(name)

    disturbed(cluster, disturb)
    cluster.stop()
    assert cluster.leftovers() == []


def test_data_that_was_uploaded_is_uploaded_again_when_its_worker_is_lost(cluster_of):
    cluster = cluster_of(1)
    session = new_session(cluster.url)
    values = np.random.default_rng(SEED).random((800, 800))
    tensor = mt.tensor(values, chunk_size=200)
    for factor in (2, 3):
        result = tensor * factor
        session.execute(result)
        np.testing.assert_array_equal(session.fetch(result), values * factor)
        cluster.workers["w0"].kill()
        cluster.start_worker("w0")
    # What was computed from it comes back too.
    np.testing.assert_array_equal(session.fetch(result), values * 3)


def test_a_worker_is_killed_for_good(cluster_of, chance):
    cluster = cluster_of(3)

    def disturb() -> None:
        for name in chance.sample(sorted(cluster.workers), 2):
            time.sleep(chance.uniform(0.05, 0.6))
            cluster.workers[name].kill()

    disturbed(cluster, disturb)
    cluster.wait_for_workers(1)


def test_the_scheduler_is_killed_and_goes_on_from_its_journal(cluster_of, chance):
    cluster = cluster_of(2)

    def disturb() -> None:
        for _ in range(2):
            time.sleep(chance.uniform(0.05, 0.6))
            cluster.scheduler.kill()
            cluster.start_scheduler()
            cluster.wait_for_workers(2)

    disturbed(cluster, disturb)


def test_the_web_role_is_killed_and_clients_connect_again(cluster_of, chance):
    cluster = cluster_of(2)

    def disturb() -> None:
        for _ in range(2):
            time.sleep(chance.uniform(0.05, 0.6))
            cluster.web.kill()
            cluster.start_web()

    disturbed(cluster, disturb)


@pytest.mark.parametrize("role", ["worker", "scheduler", "web"])
def test_a_role_that_stops_for_longer_than_its_lease_is_survived(cluster_of, chance, role):
    cluster = cluster_of(2)

    def disturb() -> None:
        time.sleep(chance.uniform(0.05, 0.4))
        stopped = {"worker": cluster.workers["w0"], "scheduler": cluster.scheduler}.get(
            role, cluster.web
        )
        stopped.signal(signal.SIGSTOP)
        time.sleep(3)  # three leases
        stopped.signal(signal.SIGCONT)
        cluster.wait_for_workers(2)

    disturbed(cluster, disturb)


def test_a_worker_that_leaves_hands_over_what_it_has(cluster_of):
    cluster = cluster_of(2)
    session = new_session(cluster.url)
    work = Work(SEED, rounds=2)
    session.execute(work.tensor)
    finished = tasks_finished(cluster)
    assert cluster.workers["w0"].end(signal.SIGTERM) == 0, cluster.text()
    cluster.wait_for_workers(1)
    work.check(session)
    assert tasks_finished(cluster) == finished, "something was computed again"
    cluster.stop()
    assert cluster.leftovers() == []


def test_a_worker_leaves_though_the_scheduler_was_killed(cluster_of):
    cluster = cluster_of(2)
    cluster.scheduler.kill()
    worker = cluster.workers["w1"]
    worker.end(signal.SIGTERM, timeout=60)
    assert "the scheduler has stopped without a word" in worker.text()


def test_a_worker_leaves_while_it_computes(cluster_of, chance):
    cluster = cluster_of(3)

    def disturb() -> None:
        for name in ("w0", "w1"):
            time.sleep(chance.uniform(0.05, 0.6))
            assert cluster.workers[name].end(signal.SIGTERM) == 0, cluster.text()

    disturbed(cluster, disturb)
    cluster.wait_for_workers(1)


def test_more_data_than_memory_goes_to_disk_and_comes_back(bare_cluster):
    cluster = bare_cluster
    spill = cluster.spill_dir()
    cluster.start_scheduler()
    cluster.start_web()
    for index in range(2):
        cluster.start_worker(f"w{index}", "--cpu", "1", "--cache", "16m", "--spill-dir", str(spill))
    cluster.wait_for_workers(2)
    session = new_session(cluster.url)
    # 128 MiB in 32 MiB of cache.
    tensor = mt.arange(16 << 20, chunk_size=1 << 18) * 2.0
    session.execute(tensor)
    status = cluster.muster("engine", "status", "-u", cluster.url)
    assert "spilled     0 B" not in status.stdout
    total = tensor.sum()
    session.execute(total)
    assert session.fetch(total) == float((16 << 20) - 1) * (16 << 20)
    del tensor, total
    cluster.stop()
    assert cluster.leftovers() == []


def test_local_cluster_starts_again_what_dies_and_ends_as_a_whole(bare_cluster):
    cluster = bare_cluster
    local = cluster.start("local-cluster", "--workers", "2", "--cpu", "1", "--memory", "256m")
    cluster.url = local.wait_for(r"^cluster ready at (\S+)$")[1]
    cluster.wait_for_workers(2)
    session = new_session(cluster.url)
    total = mt.ones(1000, chunk_size=100).sum()
    session.execute(total)
    assert session.fetch(total) == 1000
    children = children_of(local.pid)
    assert len(children) == 4
    workers = [pid for pid in children if "worker" in command_of(pid)]
    os.kill(workers[0], signal.SIGKILL)
    local.wait_for("started again")
    wait_until(lambda: len(children_of(local.pid)) == 4)
    cluster.wait_for_workers(2)
    assert local.end(signal.SIGTERM, timeout=20) == 0
    wait_until(lambda: not any(is_running(pid) for pid in children))


def test_killing_local_cluster_kills_its_roles(bare_cluster):
    local = bare_cluster.start("local-cluster", "--workers", "1", "--cpu", "1", "--memory", "256m")
    local.wait_for(r"^cluster ready at (\S+)$")
    children = children_of(local.pid)
    assert len(children) == 3
    local.kill()
    wait_until(lambda: not any(is_running(pid) for pid in children))


def tasks_finished(cluster: Cluster) -> int:
    status = cluster.muster("engine", "status", "-u", cluster.url, "-o", "json")
    return int(json.loads(status.stdout)["tasks"]["finished"])


def children_of(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def command_of(pid: int) -> list[str]:
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read().split("\0")


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], bool], timeout: float = 20) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
