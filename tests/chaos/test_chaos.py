"""kill -9 of workers, the master and Redis at random moments of a running job."""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import PARTY, Process

SEED = int(os.environ.get("MUSTER_TEST_SEED", "1"))
WORKERS = ["w1", "w2", "w3", "w4"]
ALL = r"replies \[w1 w2 w3 w4\] lost \[\] whole"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Job:
    """A master that asks four workers in rounds, for ever, and what it needs to run."""

    def __init__(self, store: str, driver: str, folder: Path) -> None:
        self.driver = driver
        self.folder = folder / "store"
        self.redis: Process | None = None
        self.port = free_port()
        self.discovery = f"file:{self.folder}"
        if store == "redis":
            self.discovery = f"redis://127.0.0.1:{self.port}"
            self.start_redis(folder)
        self.tmp = folder
        self.members: dict[str, Process] = {}
        for name in [*WORKERS, "master"]:
            self.start(name)

    def start_redis(self, folder: Path) -> None:
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port)]
        self.redis = Process([*command, "--save", "", "--dir", str(folder)], os.environ)
        self.redis.wait_for("Ready to accept connections", timeout=20)

    def start(self, name: str) -> None:
        words = [f"name={name}", f"discovery={self.discovery}", f"driver={self.driver}"]
        words += ["rejoin=1", "lease_ms=1000", "workers=4", "rounds=0", "pause_ms=1"]
        role = "master" if name == "master" else "worker"
        self.members[name] = Process([str(PARTY), role, *words, "bytes=20000"], os.environ)

    def kill(self, name: str) -> None:
        if name == "redis":
            assert self.redis is not None
            self.redis.kill()
            self.start_redis(self.tmp)
        else:
            self.members[name].kill()
            self.start(name)

    def healthy(self) -> None:
        """Waits until the master has heard from everybody again."""
        master = self.members["master"]
        master.wait_for(ALL, after=len(master.lines), timeout=60)

    def close(self) -> None:
        for process in [*self.members.values(), *([self.redis] if self.redis else [])]:
            process.kill()


def leftovers(job: Job) -> list[str]:
    """What a killed job has left behind on this host."""
    found = [str(path) for path in Path("/dev/shm").glob("*muster*")]
    for name in [f"muster_party {role}" for role in ("master", "worker")]:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if name in command and job.discovery in command:
                found.append(command)
    if job.folder.exists():
        found += [str(path) for path in job.folder.rglob("*")]
    return found


@pytest.fixture(params=[("file", "auto"), ("redis", "auto"), ("redis", "zmq")], ids="-".join)
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Job]:
    store, driver = request.param
    job = Job(store, driver, tmp_path)
    yield job
    job.close()


def trouble(job: Job, kills: int) -> None:
    seed = SEED
    print(f"MUSTER_TEST_SEED={seed}")
    dice = random.Random(seed)
    victims = [*WORKERS, "master", *(["redis"] if job.redis else [])]
    job.healthy()
    for number in range(1, kills + 1):
        time.sleep(dice.random() * 0.2)  # a random moment, not a wait for something
        job.kill(dice.choice(victims))
        if number % 5 == 0:
            job.healthy()
    job.healthy()


def finish(job: Job) -> None:
    """Kills the workers, then lets one more member look around, as the next run would."""
    for name in WORKERS:
        job.members[name].kill()
    job.members["master"].kill()
    command = [str(PARTY), "worker", "name=next", f"discovery={job.discovery}", "join_ms=300"]
    assert Process(command, os.environ).wait() == 1


@pytest.mark.timeout(120)
def test_a_job_survives_kills_and_leaves_nothing(job: Job) -> None:
    trouble(job, kills=10)
    finish(job)
    assert leftovers(job) == []


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_job_survives_a_hundred_kills_and_leaves_nothing(job: Job) -> None:
    trouble(job, kills=100)
    finish(job)
    assert leftovers(job) == []
