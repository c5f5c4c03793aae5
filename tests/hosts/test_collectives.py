"""Groups of ranks on three hosts (network namespaces), one of which is cut off, paused or killed.
Needs root."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence

import pytest
from _pytest.mark import ParameterSet

from tests.hosts.hosts import Host, Network
from tests.hosts.parties import HAS_UCX
from tests.support.processes import RANK, ROOT, Process

LEASE_MS = 2500
# How much later than the lease a busy machine may notice.
LATE_MS = 6000

OPERATIONS = [
    "barrier",
    "broadcast",
    "scatter",
    "gather",
    "reduce",
    "allreduce",
    "allgather",
    "reduce_scatter",
    "all_to_all",
]
SMALL, LARGE = 10, 30_000

# The host in trouble has the rank of its number. Redis runs on the first, and rank 1 is the root.
HOSTS = range(3)

SAMPLE = [
    ("cut", "zmq", "allreduce", LARGE, 2),
    ("cut", "zmq", "all_to_all", SMALL, 0),
    ("cut", "ucx", "allreduce", LARGE, 2),
    ("pause", "zmq", "broadcast", SMALL, 1),
    ("pause", "ucx", "reduce_scatter", LARGE, 0),
    ("kill", "ucx", "gather", SMALL, 2),
]
ALL = [
    case
    for case in itertools.product(
        ["cut", "pause", "kill"], ["zmq", "ucx"], OPERATIONS, [SMALL, LARGE], HOSTS
    )
    if case[2:4] != ("barrier", LARGE)
]
# With several ranks on each host, in blocks so small that all operations go in two levels.
TWO_LEVEL_COUNT = 1000
TWO_LEVEL_SAMPLE = [
    ("cut", "all_to_all", 2),
    ("pause", "reduce_scatter", 1),
    ("kill", "allreduce", 0),
]
TWO_LEVEL = list(itertools.product(["cut", "pause", "kill"], OPERATIONS, HOSTS))


def sampled(
    cases: Sequence[tuple[object, ...]], sample: Sequence[tuple[object, ...]]
) -> list[ParameterSet]:
    """All cases; those that are not in the sample are left to scripts/soak."""
    return [pytest.param(*case, marks=() if case in sample else pytest.mark.soak) for case in cases]


def start_rank(
    network: Network, host: Host, discovery: str, rank: int, size: int, **settings: object
) -> Process:
    words = [f"{key}={value}" for key, value in {"lease_ms": LEASE_MS, **settings}.items()]
    return host.start(
        *[str(RANK), f"discovery={discovery}", f"rank={rank}", f"size={size}", *words],
        secret=network.secret,
    )


@contextlib.contextmanager
def troubled(trouble: str, host: Host, rank: Process) -> Iterator[None]:
    if trouble == "cut":
        with host.cut():
            yield
        return
    os.kill(rank.pid, signal.SIGSTOP if trouble == "pause" else signal.SIGKILL)
    yield
    if trouble == "pause":
        os.kill(rank.pid, signal.SIGCONT)


def check_in_time(rank: Process, line: int, since: float) -> None:
    """It said in that line that a rank is lost, soon enough after the given moment."""
    said = re.search(r"rank_lost at (\d+):", rank.lines[line - 1])
    assert said is not None
    delay = int(said[1]) - int(since * 1000)
    print(f"noticed after {delay} ms, the lease is {LEASE_MS} ms")
    assert delay <= LEASE_MS + LATE_MS


def check_survivors(ranks: Sequence[Process], lost: Sequence[int], since: float) -> None:
    """They name one that is lost, in time, and go on without all; all say the same about it."""
    left = len(ranks)
    one = "|".join(map(str, lost))
    named = rf"rank ({one})(, ({one}))* of group 'ranks' (is|are) lost"
    without = " ".join(map(str, lost))
    finished = set()
    for rank in ranks:
        line = rank.wait_for(rf"rank_lost at \d+: {named}")
        check_in_time(rank, line, since)
        line = rank.wait_for(rf"shrunk to {left}, without {without}, after \d+ calls")
        finished.add(rank.lines[line - 1])
    for rank in ranks:
        rank.wait_for(rf"call 20 of {left} right")
    assert len(finished) == 1, finished


def test_ranks_on_three_hosts_compute_together(network: Network, discovery: str) -> None:
    # Two on each host: they share memory there, and go by messages between hosts.
    words = {"calls": 100, "count": 30_000, "lease_ms": 15_000}
    ranks = [
        start_rank(network, network.hosts[rank // 2], discovery, rank, 6, **words)
        for rank in range(6)
    ]
    for rank in ranks:
        assert rank.wait() == 0, rank.lines


@pytest.mark.skipif(not HAS_UCX, reason="built without libucx")
def test_a_group_over_ucx_goes_over_tcp_between_hosts(
    network: Network, discovery: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_LOG_LEVEL", "debug")  # says which way messages take
    # Ranks 0 and 1 are on the first host, and may share memory.
    words = {"driver": "ucx", "ucx.transports": "posix,tcp", "calls": 20, "operation": "all_to_all"}
    ranks = [
        start_rank(network, network.hosts[max(0, rank - 1)], discovery, rank, 4, **words)
        for rank in range(4)
    ]
    for number, rank in enumerate(ranks):
        assert rank.wait() == 0, rank.lines
        routes = dict(re.findall(r"'rank (\d)' is reached over ucx (.*)", "\n".join(rank.lines)))
        near = str({0: 1, 1: 0}.get(number))
        others = set("0123") - {str(number)}
        assert routes == {other: "posix" if other == near else "tcp" for other in others}


def test_the_ranks_of_a_program_are_started_on_each_host(network: Network, discovery: str) -> None:
    same = [f"MUSTER_DISCOVERY={discovery}", "MUSTER_GROUP=pi", "MUSTER_SIZE=4"]
    program = [sys.executable, str(ROOT / "examples/python/pi.py")]
    starts = [
        host.start(
            *["env", *same, str(ROOT / "examples/hosts/start_ranks"), *ranks, *program],
            secret=network.secret,
        )
        for host, ranks in zip(network.hosts, [("0", "1"), ("2", "3")])
    ]
    starts[0].wait_for("pi is 3.141593, say 4 ranks")
    for start in starts:
        assert start.wait() == 0, start.lines


@pytest.mark.parametrize(("trouble", "driver", "operation", "count", "where"), sampled(ALL, SAMPLE))
def test_a_rank_that_is_gone_is_named_and_the_majority_goes_on(
    network: Network,
    discovery: str,
    trouble: str,
    driver: str,
    operation: str,
    count: int,
    where: int,
) -> None:
    if driver == "ucx" and not HAS_UCX:
        pytest.skip("built without libucx")
    words = {"driver": driver, "operation": operation, "count": count}
    ranks = [
        start_rank(network, host, discovery, number, 3, **words)
        for number, host in enumerate(network.hosts)
    ]
    for rank in ranks:
        rank.wait_for(r"call 20 of 3 right")
    gone = ranks.pop(where)
    since = time.monotonic()
    with troubled(trouble, network.hosts[where], gone):
        check_survivors(ranks, [where], since)
        # The other side sees both others lost, and does not go on by itself.
        if trouble == "cut":
            line = gone.wait_for(r"rank_lost at \d+:")
            check_in_time(gone, line, since)
            gone.wait_for("no shrink")
    if trouble == "pause":
        gone.wait_for("no shrink")
    for rank in ranks:
        rank.wait_for(r"call \d+ of 2 right", after=len(rank.lines))


@pytest.mark.parametrize(("trouble", "operation", "where"), sampled(TWO_LEVEL, TWO_LEVEL_SAMPLE))
def test_ranks_that_are_gone_among_several_of_a_host_are_named_on_all_hosts(
    network: Network, discovery: str, trouble: str, operation: str, where: int
) -> None:
    words = {"operation": operation, "count": TWO_LEVEL_COUNT}
    ranks = [
        start_rank(network, network.hosts[number // 2], discovery, number, 6, **words)
        for number in range(6)
    ]
    for rank in ranks:
        rank.wait_for(r"call 20 of 6 right")
    first = 2 * where
    lost = [first, first + 1] if trouble == "cut" else [first]
    left = [rank for number, rank in enumerate(ranks) if number not in lost]
    since = time.monotonic()
    with troubled(trouble, network.hosts[where], ranks[first]):
        check_survivors(left, lost, since)
        # The two that are cut off see all others lost, and do not go on by themselves.
        if trouble == "cut":
            for number in lost:
                line = ranks[number].wait_for(r"rank_lost at \d+:")
                check_in_time(ranks[number], line, since)
                ranks[number].wait_for("no shrink")
    if trouble == "pause":
        ranks[first].wait_for("no shrink")
    for rank in left:
        rank.wait_for(rf"call \d+ of {len(left)} right", after=len(rank.lines))
