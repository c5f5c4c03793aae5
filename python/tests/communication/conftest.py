"""Fixtures: a discovery folder per test, child processes that never outlive it, a Redis server."""

from __future__ import annotations

import itertools
import multiprocessing
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from components import join_all

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def runtime_dir(monkeypatch):
    """The folder where the proxies of one test find each other. Short, because sockets go there."""
    folder = tempfile.mkdtemp(prefix="mst")
    monkeypatch.setenv("MUSTER_RUNTIME_DIR", folder)
    monkeypatch.delenv("COMPONENT_NAME", raising=False)
    monkeypatch.delenv("MUSTER_SECRET", raising=False)
    yield Path(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def group():
    return f"group{next(_numbers)}"


@pytest.fixture
def join(group):
    """Makes proxies of the test's group that wait for each other; closes them at the end."""
    proxies = []

    def make(*options, **common):
        made = join_all(*({"group_name": group, **common, **each} for each in options))
        proxies.extend(made)
        return made

    yield make
    for proxy in proxies:
        proxy.close()


@pytest.fixture
def pair(join):
    """A master and a worker in this process."""
    return join(
        {"component_type": "master", "expected_peers": {"worker": 1}, "component_name": "master"},
        {"component_type": "worker", "expected_peers": {"master": 1}, "component_name": "worker"},
    )


@pytest.fixture
def start():
    """Starts a function in a child process, which is killed at the end of the test."""
    children = []

    def begin(function, *args, method="spawn", **kwargs):
        context = multiprocessing.get_context(method)
        child = context.Process(target=function, args=args, kwargs=kwargs, daemon=True)
        child.start()
        children.append(child)
        return child

    yield begin
    for child in children:
        child.kill()
        child.join(30)


class RedisServer:
    """A real Redis server on a free port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = None
        self.start()

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--save", "", "--dir", str(self.folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(self.address) == 0:
                    return
            time.sleep(0.01)
        raise RuntimeError("redis-server does not answer")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(30)


@pytest.fixture
def redis_server(runtime_dir):
    server = RedisServer(runtime_dir)
    yield server
    server.stop()
