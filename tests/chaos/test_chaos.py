"""kill -9 of workers, the master and Redis at random moments of a running job."""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.processes import PARTY, Process

SEED = int(os.environ.get("MUSTER_TEST_SEED", "1"))
WORKERS = ["w1", "w2", "w3", "w4"]
UCX_ABORTS = re.compile(r"\b(ucp|wireup)\w*\.c:\d+ +Assertion .* failed")
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
        self.killed: list[str] = []
        self.slowest = 0.0
        self.aborted = 0
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
        env = {"MUSTER_LOG_LEVEL": "info", **os.environ}
        self.members[name] = Process([str(PARTY), role, *words, "bytes=20000"], env)

    def kill(self, name: str) -> None:
        victim = self.redis if name == "redis" else self.members[name]
        assert victim is not None
        fate = "" if victim.running() else " (it had ended)"
        victim.kill()
        self.killed.append(f"{datetime.now():%H:%M:%S.%f} {name}, process {victim.pid}{fate}")
        if name == "redis":
            self.start_redis(self.tmp)
        else:
            self.start(name)

    def healthy(self) -> None:
        """Waits until the master has heard from everybody again."""
        begin = time.monotonic()
        while time.monotonic() < begin + 60:
            self.replace_aborted()
            if any(not process.running() for process in self.members.values()):
                raise AssertionError(f"a process ended by itself\n{self.report()}")
            master = self.members["master"]
            with contextlib.suppress(AssertionError):
                master.wait_for(ALL, after=len(master.lines), timeout=5)
                self.slowest = max(self.slowest, time.monotonic() - begin)
                return
        raise AssertionError(f"the job did not recover within a minute\n{self.report()}")

    def replace_aborted(self) -> None:
        """Starts those again that UCX has aborted, as whoever supervises them would: before 1.14 it
        does so when a peer dies while the two connect."""
        if self.driver != "ucx":
            return
        for name, process in list(self.members.items()):
            if not process.running() and any(UCX_ABORTS.search(line) for line in process.lines):
                self.aborted += 1
                self.kill(name)

    def report(self) -> str:
        """What became of everybody, for people who look for the reason."""
        parts = ["killed last:", *self.killed[-10:]]
        for name, process in self.members.items():
            parts += [f"{name}, {process.state()}:", *process.last_lines(30)]
        return "\n".join(parts)

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


@pytest.fixture(
    params=[("file", "auto"), ("redis", "auto"), ("redis", "zmq"), ("redis", "ucx")], ids="-".join
)
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
    print(f"slowest recovery {job.slowest:.1f} s, {job.aborted} aborted by UCX")


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
