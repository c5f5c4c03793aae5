"""Groups of ranks on three hosts (network namespaces), one of which is cut off. Needs root."""

from __future__ import annotations

import os
import signal

from tests.hosts.hosts import Host, Network
from tests.support.processes import RANK, Process


def start_rank(
    network: Network, host: Host, discovery: str, rank: int, size: int, **settings: object
) -> Process:
    words = [f"{key}={value}" for key, value in {"lease_ms": 1500, **settings}.items()]
    return host.start(
        *[str(RANK), f"discovery={discovery}", f"rank={rank}", f"size={size}", *words],
        secret=network.secret,
    )


def test_ranks_on_three_hosts_compute_together(network: Network, discovery: str) -> None:
    # Two on each host: they share memory there, and go by messages between hosts.
    ranks = [
        start_rank(network, network.hosts[rank // 2], discovery, rank, 6, calls=300, count=30_000)
        for rank in range(6)
    ]
    for rank in ranks:
        assert rank.wait() == 0, rank.lines
        assert not any("WRONG" in line for line in rank.lines), rank.lines


def test_a_rank_that_is_cut_off_is_named_and_the_majority_goes_on(
    network: Network, discovery: str
) -> None:
    ranks = [
        start_rank(network, host, discovery, number, 3) for number, host in enumerate(network.hosts)
    ]
    for rank in ranks:
        rank.wait_for(r"call 100 of 3 right")
    with network.hosts[2].cut():
        for rank in ranks[:2]:
            rank.wait_for(r"rank_lost: rank 2 of group 'ranks' is lost")
            rank.wait_for(r"shrunk to 2, without 2")
            rank.wait_for(r"call 100 of 2 right")
        # The other side sees both others lost, and does not go on by itself.
        assert ranks[2].wait() == 3, ranks[2].lines
        assert any("no shrink" in line for line in ranks[2].lines), ranks[2].lines
    for rank in ranks[:2]:
        rank.wait_for(r"call \d+ of 2 right", after=len(rank.lines))


def test_a_rank_that_was_paused_for_long_learns_that_it_is_out(
    network: Network, discovery: str
) -> None:
    ranks = [
        start_rank(network, host, discovery, number, 3) for number, host in enumerate(network.hosts)
    ]
    for rank in ranks:
        rank.wait_for(r"call 100 of 3 right")
    os.kill(ranks[2].pid, signal.SIGSTOP)
    for rank in ranks[:2]:
        rank.wait_for(r"shrunk to 2, without 2")
    os.kill(ranks[2].pid, signal.SIGCONT)
    assert ranks[2].wait() == 3, ranks[2].lines
    assert not any("WRONG" in line for rank in ranks for line in rank.lines)
