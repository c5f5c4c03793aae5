"""The actors' processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

ACTOR = Path(__file__).with_name("actor.py")
# Four actors on a few cores have no use for threads in each.
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


class Crew:
    """Starts actors, and sees to it that none is left in the end."""

    def __init__(self, group: str, size: int, seed: int) -> None:
        self._group = group
        self._seed = seed
        self._started = 0
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        for number in range(size):
            self.start(f"actor_{number}")

    def start(self, name: str) -> None:
        """Starts an actor under this name; a later life has another seed."""
        seed = self._seed * 1000 + self._started
        command = [sys.executable, str(ACTOR), self._group, name, str(seed)]
        self._processes[name] = subprocess.Popen(command, env=ENVIRONMENT)
        self._started += 1

    def kill(self, name: str) -> None:
        """Kills an actor the hard way, as a machine that fails would."""
        self._processes[name].kill()
        self._processes[name].wait()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        deadline = time.monotonic() + 30  # a busy machine is slow to end them
        for process in self._processes.values():
            try:
                process.wait(timeout=max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
