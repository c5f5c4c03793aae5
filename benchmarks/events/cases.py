"""From what bench_events measures to rows of the table."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

# Nanoseconds of the repetitions, by the name of the benchmark.
Times = dict[str, list[float]]

ONE_EVENT = "push_and_fire/events:1/waiting:0"
NONE_WAIT = "push_and_fire/events:1000/waiting:0"
# Name, benchmark, what it does so often in one iteration, with what it is compared, how often that
# does it, and the least ratio that keeps the promise.
CASES = [
    ("push, 1,000 events", NONE_WAIT, 3, ONE_EVENT, 3, 0.2),
    (
        "push, 1,000 events, 100,000 waiting",
        "push_and_fire/events:1000/waiting:100000",
        3,
        NONE_WAIT,
        3,
        0.8,
    ),
    (
        "push, 1,000 events, 1,000,000 waiting",
        "push_and_fire/events:1000/waiting:1000000",
        3,
        NONE_WAIT,
        3,
        0.8,
    ),
    ("push that no event wants", "push_unmatched/events:1000/waiting:100000", 1, ONE_EVENT, 3, 0.5),
    ("push that fires 1,000", "push_to_all/events:1000/waiting:100000", 1000, ONE_EVENT, 3, 1.0),
]


def measure(program: Path, quick: bool) -> Times:
    """Runs the program; the repetitions of its benchmarks take turns."""
    repetitions, seconds = (3, 0.2) if quick else (7, 1.0)
    command = [
        str(program),
        "--benchmark_format=json",
        f"--benchmark_repetitions={repetitions}",
        f"--benchmark_min_time={seconds}",
        "--benchmark_enable_random_interleaving=true",
    ]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return parse(printed)


def parse(printed: str) -> Times:
    """The times in what the program prints."""
    times: Times = {}
    for run in json.loads(printed)["benchmarks"]:
        if run["run_type"] == "iteration":
            times.setdefault(run["run_name"], []).append(run["real_time"])
    return times


def rows(times: Times) -> Iterator[dict]:
    """One row for each case, in nanoseconds for each message or event."""
    for case, ours, our_count, peer, peer_count, budget in CASES:
        mine = sorted(time / our_count for time in times[ours])
        base = sorted(time / peer_count for time in times[peer])
        row = {
            "case": case,
            "size": 0,
            "ours": statistics.median(mine),
            "peer": statistics.median(base),
            "peer_name": "budget",
            "unit": "ns",
            "better": "lower",
            "ours_spread": (mine[0], mine[-1]),
            "peer_spread": (base[0], base[-1]),
            "budget": budget,
        }
        yield {**row, "ratio": row["peer"] / row["ours"]}
