"""Usage: measure.py SYSTEM MEMORY

Starts a cluster whose workers may keep so many bytes each in memory (0 for no limit), then reads a
line of JSON at a time and answers each with one: {"prepare": WORKLOAD, "size": N} with {},
{"run": true} with {"seconds": S, "peak": bytes of all its processes together}. Ends with its input.
A process of its own, so that two systems can take turns and nothing is left of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from clusters import CLUSTERS, resident  # noqa: E402
from workloads import WORKLOADS  # noqa: E402


@contextlib.contextmanager
def watched(cluster: Any, peak: list[int]) -> Iterator[None]:
    """Appends the most memory that the cluster had while the block ran. It is seldom looked at,
    because counting pages takes time."""
    pids, stop, most = cluster.processes(), threading.Event(), [0]

    def watch() -> None:
        while not stop.wait(0.5):
            most[0] = max(most[0], resident(pids))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        peak.append(max(most[0], resident(pids)))


def serve(cluster: Any, answers: Any) -> None:
    """Until the input ends."""
    run: Any = None
    for line in sys.stdin:
        order = json.loads(line)
        if "prepare" in order:
            run = None  # what the last one kept goes before the next is made
            run = WORKLOADS[order["prepare"]].run(cluster, order["size"])
            answer = {}
        else:
            peak: list[int] = []
            with watched(cluster, peak):
                start = time.perf_counter()
                result = run()
                seconds = time.perf_counter() - start
            del result
            cluster.settle()
            answer = {"seconds": seconds, "peak": peak[0]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main() -> None:
    system, memory = sys.argv[1:]
    # Libraries print what they like; answers have a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with (
        tempfile.TemporaryDirectory(prefix="muster-bench-", ignore_cleanup_errors=True) as folder,
        CLUSTERS[system](int(memory), folder) as cluster,
    ):
        answers.write("{}\n")
        answers.flush()
        serve(cluster, answers)


if __name__ == "__main__":
    main()
