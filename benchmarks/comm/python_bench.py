"""The Python proxy against a plain pickle-over-pyzmq proxy, between two processes.

Prints one JSON object per row for benchmarks/report.py.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pickle_proxy import PickleProxy, PlainMessage

SIZES = (64, 1 << 10, 64 << 10, 1 << 20)
LARGE = 1 << 20
PEERS = {"driver": "partner", "partner": "driver"}


class MusterEnd:
    """Our proxy with the operations that are measured."""

    def __init__(self, folder: Path, name: str, max_spin: float) -> None:
        from muster.communication import Proxy, SessionMessage, SessionType

        self.peer = PEERS[name]
        self.proxy = Proxy(
            "bench",
            name,
            {self.peer: 1},
            component_name=name,
            max_spin=max_spin,
            discovery=f"file:{folder}",
        )
        self._message = SessionMessage
        self._notification = SessionType.NOTIFICATION

    def notify(self, body: Any) -> None:
        self.proxy.isend(
            self._message(
                "bench", self.proxy.name, self.peer, body=body, session_type=self._notification
            )
        )

    def ask(self, body: Any) -> Any:
        [reply] = self.proxy.send(self._message("bench", self.proxy.name, self.peer, body=body))
        return reply.body

    def take(self) -> Any:
        return self.proxy.receive_once()

    def answer(self, message: Any) -> None:
        self.proxy.reply(message, body=message.body)


class PickleEnd:
    """The same with the plain proxy."""

    def __init__(self, folder: Path, name: str) -> None:
        self.peer = PEERS[name]
        self.proxy = PickleProxy(folder, name, self.peer)
        port = folder / f"{self.peer}.port"
        deadline = time.monotonic() + 30
        while not port.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        self.proxy.connect(folder)

    def notify(self, body: Any) -> None:
        self.proxy.isend(PlainMessage("bench", self.proxy.name, self.peer, body))

    def ask(self, body: Any) -> Any:
        [reply] = self.proxy.send(PlainMessage("bench", self.proxy.name, self.peer, body))
        return reply.body

    def take(self) -> Any:
        return self.proxy.receive_once()

    def answer(self, message: Any) -> None:
        self.proxy.reply(message, message.body)


def make_end(kind: str, folder: Path, name: str) -> Any:
    if kind == "pyzmq":
        return PickleEnd(folder, name)
    return MusterEnd(folder, name, 0.0 if kind == "sleeping" else 50e-6)


def serve(kind: str, folder: Path) -> None:
    """The partner: does what the lines on its standard input say."""
    end = make_end(kind, folder, "partner")
    print("there", flush=True)
    for line in sys.stdin:
        what, count = line.split()
        print("ready", flush=True)
        for _ in range(int(count)):
            message = end.take()
            if what == "answer":
                end.answer(message)
        print(time.monotonic_ns(), flush=True)


class Trial:
    """Both ends: this one, and one in a process of its own."""

    def __init__(self, kind: str, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self.partner = subprocess.Popen(
            [sys.executable, __file__, "--serve", kind, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.end = make_end(kind, folder, "driver")
        assert self._hear() == "there"
        self._seconds_each: dict[tuple[str, int], float] = {}

    def _hear(self) -> str:
        assert self.partner.stdout
        return self.partner.stdout.readline().strip()

    def _start(self, what: str, count: int) -> None:
        assert self.partner.stdin
        self.partner.stdin.write(f"{what} {count}\n")
        self.partner.stdin.flush()
        assert self._hear() == "ready"

    def _count(self, what: str, size: int, seconds: float, run: Callable[[int], float]) -> int:
        """How many take about that long; found by trying once, which is the warm-up too."""
        key = (what, size)
        if key not in self._seconds_each:
            tries = 100 if size < LARGE else 10
            self._seconds_each[key] = run(tries) / tries
        return max(10, int(seconds / self._seconds_each[key]))

    def _run_notifications(self, body: bytes, count: int) -> float:
        self._start("take", count)
        start = time.monotonic_ns()
        for _ in range(count):
            self.end.notify(body)
        return (int(self._hear()) - start) / 1e9

    def rate(self, size: int, seconds: float) -> float:
        body = bytes(size)
        count = self._count(
            "rate", size, seconds, lambda tries: self._run_notifications(body, tries)
        )
        return count / self._run_notifications(body, count)

    def _run_requests(self, body: bytes, count: int) -> list[float]:
        self._start("answer", count)
        microseconds = []
        before = time.perf_counter_ns()
        for _ in range(count):
            self.end.ask(body)
            after = time.perf_counter_ns()
            microseconds.append((after - before) / 1e3)
            before = after
        self._hear()
        return sorted(microseconds)

    def round_trip(self, size: int, seconds: float) -> tuple[float, float]:
        """The median and the 99th percentile."""
        body = bytes(size)
        count = self._count(
            "ask", size, seconds, lambda tries: sum(self._run_requests(body, tries)) / 1e6
        )
        sorted_times = self._run_requests(body, count)
        return statistics.median(sorted_times), sorted_times[int(0.99 * len(sorted_times))]

    def stop(self) -> None:
        self.end.proxy = None
        self.partner.kill()
        self.partner.wait()


def print_row(
    case: str,
    size: int,
    ours: list[float],
    peer: list[float],
    unit: str,
    better: str,
    budget: float,
) -> None:
    mine, theirs = statistics.median(ours), statistics.median(peer)
    row = {
        "case": case,
        "size": size,
        "ours": mine,
        "peer": theirs,
        "peer_name": "pyzmq",
        "unit": unit,
        "better": better,
        "ratio": mine / theirs if better == "higher" else theirs / mine,
        "ours_spread": [min(ours), max(ours)],
        "peer_spread": [min(peer), max(peer)],
        "budget": budget,
    }
    print(json.dumps(row), flush=True)


def compare(
    kind: str, size: int, trials: dict[str, Trial], seconds: float, repetitions: int
) -> None:
    """Rows for one size; ours and the peer take turns."""
    rates: dict[str, list[float]] = {kind: [], "pyzmq": []}
    medians: dict[str, list[float]] = {kind: [], "pyzmq": []}
    tails: dict[str, list[float]] = {kind: [], "pyzmq": []}
    for _ in range(repetitions):
        for side in (kind, "pyzmq"):
            rates[side].append(trials[side].rate(size, seconds))
            median, tail = trials[side].round_trip(size, seconds)
            medians[side].append(median)
            tails[side].append(tail)
    # The budget is about small messages: large ones cost what copying them costs.
    budget = {"spinning": 10.0, "sleeping": 2.0}[kind] if size <= 1 << 10 else 0.0
    print_row(f"python {kind} rate", size, rates[kind], rates["pyzmq"], "msg/s", "higher", 0.0)
    print_row(
        f"python {kind} round trip p50",
        size,
        medians[kind],
        medians["pyzmq"],
        "us",
        "lower",
        budget,
    )
    print_row(
        f"python {kind} round trip p99", size, tails[kind], tails["pyzmq"], "us", "lower", 0.0
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--serve", nargs=2, metavar=("KIND", "FOLDER"))
    arguments = parser.parse_args()
    if arguments.serve:
        return serve(arguments.serve[0], Path(arguments.serve[1]))
    kinds = [kind for kind in ("spinning", "sleeping") if arguments.only in f"python {kind}"]
    seconds, repetitions = (0.05, 3) if arguments.quick else (0.3, 5)
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        trials = {kind: Trial(kind, Path(folder) / kind) for kind in [*kinds, "pyzmq"] if kinds}
        for kind in kinds:
            for size in SIZES:
                compare(kind, size, trials, seconds, repetitions)
        for trial in trials.values():
            trial.stop()
    return None


if __name__ == "__main__":
    main()
