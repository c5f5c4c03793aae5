"""The array engine on three hosts: scheduler and web role on the first, workers on the others."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

import pytest

from tests.hosts.hosts import Host, Network
from tests.support.processes import Process

ROOT = Path(__file__).resolve().parents[2]
MUSTER = str(ROOT / "build" / "release" / "bin" / "muster")
CLIENT = """
import itertools
import sys
import time
import numpy as np
import muster.tensor as mt
from muster.session import new_session

session = new_session(sys.argv[1]).as_default()
print("connected", flush=True)
for rounds in itertools.count():
    values = np.random.default_rng(rounds).integers(-9, 10, (300, 300)).astype("f8")
    t = mt.tensor(values, chunk_size=50)
    product = mt.dot(t, t.T)
    product.execute()
    assert (product.fetch() == values @ values.T).all()
    chosen = t[t > 3].sum()
    assert chosen.execute().fetch() == values[values > 3].sum()
    print("right", flush=True)
    time.sleep(0.1)
"""

pytestmark = pytest.mark.timeout(180)


class EngineHosts:
    def __init__(self, network: Network, folder: Path) -> None:
        self.network = network
        self.folder = folder
        self.first, *self.others = network.hosts
        self.secret = secrets.token_hex(16)
        self.start(self.first, "scheduler", "-a", self.first.address, "-p", "7103").wait_for(
            "scheduler ready", timeout=30
        )
        self.scheduler = f"{self.first.address}:7103"
        web = ["web", "-a", self.first.address, "-p", "7104", "-s", self.scheduler]
        self.start(self.first, *web).wait_for("web ready", timeout=30)
        self.url = f"http://{self.first.address}:7104"
        self.workers = [self.start_worker(host) for host in self.others]

    def start(self, host: Host, *arguments: str) -> Process:
        environment = {
            "MUSTER_RUNTIME_DIR": str(self.folder / host.name / "runtime"),
            "XDG_STATE_HOME": str(self.folder / host.name / "state"),
        }
        words = [f"{name}={value}" for name, value in environment.items()]
        return host.start("env", *words, MUSTER, *arguments, secret=self.secret)

    def start_worker(self, host: Host) -> Process:
        worker = self.start(
            host,
            *["worker", "-a", host.address, "-s", self.scheduler, "--cpu", "1"],
            *["--memory", "256m"],
        )
        worker.wait_for("worker .* ready", timeout=30)
        return worker

    def client(self) -> Process:
        """On the first host; computes again and again, and says when it was right."""
        client = self.first.start(
            *["env", f"PYTHONPATH={ROOT / 'build' / 'release' / 'python'}"],
            *[sys.executable, "-c", CLIENT, self.url],
            secret=self.secret,
        )
        client.wait_for("connected", timeout=30)
        return client


@pytest.fixture
def engine(network: Network, tmp_path: Path) -> EngineHosts:
    return EngineHosts(network, tmp_path)


def right_again(client: Process, timeout: float) -> None:
    """What began before does not count."""
    seen = client.wait_for("right", after=len(client.lines), timeout=timeout)
    client.wait_for("right", after=seen, timeout=timeout)


def test_a_program_runs_on_all_hosts(engine: EngineHosts) -> None:
    engine.client().wait_for("right", timeout=60)


def test_a_host_that_is_cut_off_is_done_without(engine: EngineHosts) -> None:
    client = engine.client()
    client.wait_for("right", timeout=60)
    with engine.others[0].cut():
        right_again(client, timeout=60)
    right_again(client, timeout=60)


def test_lost_packets_change_nothing(engine: EngineHosts) -> None:
    client = engine.client()
    with engine.others[0].lossy(0.05):
        right_again(client, timeout=90)


def test_a_stranger_without_the_secret_is_refused(engine: EngineHosts) -> None:
    engine.secret = secrets.token_hex(16)
    stranger = engine.start(
        engine.others[0],
        *["worker", "-a", engine.others[0].address, "-s", engine.scheduler, "--cpu", "1"],
    )
    assert stranger.wait(60) != 0
