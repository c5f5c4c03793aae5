"""Usage: measure.py CASE SYSTEM SIZE REPETITIONS

Runs one case on one system in a process of its own, so that its memory and caches are its own,
and prints {"seconds": [...], "peak": bytes above what the inputs take, "held": bytes at most, with
the inputs, above what the process had before them}. The first run, in which libraries are loaded
and threads are started, counts for memory only.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cases import CASES, System  # noqa: E402


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


class Peak:
    """The most memory that was resident while a `with` block lasts, beyond what was before."""

    def __enter__(self) -> Peak:
        self.before = self.most = resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.002):
            self.most = max(self.most, resident())

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.most = max(self.most, resident())


def main() -> None:
    name, system, size, repetitions = sys.argv[1:]
    spoken_to = System(system)
    before = resident()
    run = CASES[name][0](spoken_to, int(size))
    seconds = []
    peak = held = 0
    for _ in range(int(repetitions) + 1):
        with Peak() as memory:
            start = time.perf_counter()
            result = run()
            seconds.append(time.perf_counter() - start)
        peak = max(peak, memory.most - memory.before)
        held = max(held, memory.most - before)
        del result
        gc.collect()
    print(json.dumps({"seconds": seconds[1:], "peak": peak, "held": held}))


if __name__ == "__main__":
    main()
