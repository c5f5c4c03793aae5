"""Roles of the array engine as real processes, for tests."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGTERM

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("MUSTER_TEST_BIN", ROOT / "build" / "release" / "bin"))
MUSTER = BIN / "muster"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Role:
    """One process: its lines, its ready line, its end."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.command = command
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.rstrip())
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_for(self, pattern: str, timeout: float = 60) -> re.Match[str]:
        deadline = time.monotonic() + timeout
        seen = 0
        with self._changed:
            while True:
                for line in self.lines[seen:]:
                    if match := re.search(pattern, line):
                        return match
                seen = len(self.lines)
                left = deadline - time.monotonic()
                if left <= 0 or not self._reader.is_alive():
                    raise AssertionError(
                        f"no line of {' '.join(self.command)} matched {pattern!r}:\n{self.text()}"
                    )
                self._changed.wait(min(left, 1))

    def text(self) -> str:
        return "\n".join(self.lines[-40:])

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def end(self, number: int = SIGTERM, timeout: float = 40) -> int:
        """Sends the signal and waits; returns the exit status."""
        if self.process.poll() is None:
            self.signal(SIGCONT)
            self.signal(number)
        return self.process.wait(timeout)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        self._reader.join(10)


class Cluster:
    """A scheduler, workers and a web role in a folder of their own. Any of them may be killed and
    started again."""

    def __init__(self, folder: Path, *, lease: str = "1s", secret: str | None = None) -> None:
        self.folder = folder
        self.lease = lease
        self.env = {
            **os.environ,
            "MUSTER_RUNTIME_DIR": str(folder / "runtime"),
            "XDG_STATE_HOME": str(folder / "state"),
            "MUSTER_LOG_LEVEL": "info",
        }
        for name in ("MUSTER_DISCOVERY", "MUSTER_SECRET", "MUSTER_TOKEN"):
            self.env.pop(name, None)
        if secret is not None:
            self.env["MUSTER_SECRET"] = secret
        self.scheduler: Role | None = None
        self.web: Role | None = None
        self.workers: dict[str, Role] = {}
        self.scheduler_at = ""
        self.url = ""
        self.roles: list[Role] = []
        self._worker_arguments: dict[str, list[str]] = {}
        self._shm_before = shared_memory()

    def start(self, *arguments: str) -> Role:
        role = Role([str(MUSTER), *arguments], self.env)
        self.roles.append(role)
        return role

    def start_scheduler(self, *arguments: str) -> Role:
        """The first time on a free port, later where it was."""
        port = self.scheduler_at.rpartition(":")[2] or "0"
        journal = str(self.folder / "journal")
        common = ["-p", port, "--lease", self.lease, "--journal-dir", journal]
        self.scheduler = self.start("scheduler", *common, *arguments)
        ready = self.scheduler.wait_for(r"^scheduler ready at (\S+)$")
        self.scheduler_at = ready[1]
        return self.scheduler

    def start_web(self, *arguments: str) -> Role:
        port = re.sub(r".*:(\d+).*", r"\1", self.url) or "0"
        self.web = self.start(
            "web", "-p", port, "-s", self.scheduler_at, "--lease", self.lease, *arguments
        )
        self.url = self.web.wait_for(r"^web ready at (\S+)$")[1]
        return self.web

    def start_worker(self, name: str | None = None, *arguments: str, wait: bool = True) -> Role:
        """Under an old name with the old arguments, unless others are given."""
        name = name or f"w{len(self._worker_arguments)}"
        given = list(arguments) or self._worker_arguments.get(name) or ["--cpu", "1"]
        self._worker_arguments[name] = given
        role = self.start(
            "worker", "-s", self.scheduler_at, "--name", name, "--lease", self.lease, *given
        )
        self.workers[name] = role
        if wait:
            role.wait_for(r"^worker \S+ ready at")
        return role

    def spill_dir(self, name: str = "spill") -> Path:
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    def count_workers(self) -> int:
        with urllib.request.urlopen(f"{self.url}/api/worker?action=count", timeout=10) as reply:
            return int(reply.read())

    def wait_for_workers(self, count: int, timeout: float = 30) -> None:
        deadline = time.monotonic() + timeout
        seen: object = None
        while time.monotonic() < deadline:
            try:
                seen = self.count_workers()
            except OSError as error:
                seen = error
            if seen == count:
                return
            time.sleep(0.05)
        raise AssertionError(f"{seen} instead of {count} workers\n{self.text()}")

    def muster(self, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(MUSTER), *arguments],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def python(self, code: str, timeout: float = 120, **variables: str) -> str:
        """Runs a client in a process of its own; returns what it printed."""
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**self.env, **variables, "MUSTER_WEB": self.url},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{self.text()}"
        return done.stdout

    def text(self) -> str:
        """The last lines of all roles, for a failure."""
        return "\n".join(
            f"--- {' '.join(role.command[1:2])} {role.pid} ({role.process.poll()})\n{role.text()}"
            for role in self.roles
        )

    def stop(self) -> None:
        """Ends everything; a role that does not end in time is a failure."""
        alive = [role for role in self.roles if role.process.poll() is None]
        for role in alive:
            role.signal(SIGCONT)
            role.signal(SIGINT)
        slow = []
        for role in alive:
            try:
                role.process.wait(20)
            except subprocess.TimeoutExpired:
                slow.append(role)
        for role in self.roles:
            role.kill()
        assert not slow, f"did not end on SIGINT:\n{self.text()}"

    def leftovers(self) -> list[str]:
        """What the ended roles left behind: shared memory and spilled chunks."""
        spilled = [str(path) for path in self.folder.glob("spill*/**/*") if path.is_file()]
        return sorted(shared_memory() - self._shm_before) + spilled


def shared_memory() -> set[str]:
    """Of this user and this program."""
    return {str(path) for path in Path("/dev/shm").glob("*muster*")}


def new_secret() -> str:
    return secrets.token_hex(16)
