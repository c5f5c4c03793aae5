"""Processes of tests that cross languages or hosts, and the program that plays a member."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTY = ROOT / "build" / "release" / "bin" / "muster_party"
RANK = ROOT / "build" / "release" / "bin" / "muster_rank"


def run(*command: str, check: bool = True) -> str:
    """Runs a command to its end and returns what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def _without_numbers(line: str) -> str:
    return re.sub(r"\b[0-9.:-]+\b", "#", line)


class Process:
    """A process on a host, whose lines are collected as they come."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
        )
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.lines.append(line.rstrip())
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def wait_for(self, pattern: str, after: int = 0, timeout: float = 60) -> int:
        """The number of lines up to the first, after the given ones, that matches."""
        deadline = time.monotonic() + timeout
        seen = after
        with self._changed:
            while True:
                while seen < len(self.lines):
                    seen += 1
                    if re.search(pattern, self.lines[seen - 1]):
                        return seen
                left = deadline - time.monotonic()
                if left <= 0 or not self._reader.is_alive():
                    text = "\n".join(self.lines[-20:])
                    raise AssertionError(f"no line matched {pattern!r}; the last were:\n{text}")
                self._changed.wait(min(left, 1))

    def wait(self, timeout: float = 60) -> int:
        return self._process.wait(timeout)

    @property
    def pid(self) -> int:
        return self._process.pid

    def running(self) -> bool:
        return self._process.poll() is None

    def state(self) -> str:
        """Whether it runs, for people."""
        code = self._process.poll()
        return f"process {self.pid} " + ("runs" if code is None else f"ended with {code}")

    def last_lines(self, count: int) -> list[str]:
        """The last that it printed; of those that follow each other and say the same but for
        numbers, the last."""
        with self._changed:
            lines = self.lines[-100 * count :]
        told: list[str] = []
        for line in reversed(lines):
            if not told or _without_numbers(line) != _without_numbers(told[-1]):
                told.append(line)
        return told[:count][::-1]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(10)
        self._reader.join(10)
