"""The ucx driver between hosts (network namespaces). Needs root, and libucx."""

from __future__ import annotations

import re

import pytest

from tests.hosts.hosts import Host, Network
from tests.hosts.parties import BOTH, HAS_UCX, ONLY_W2, start_all

pytestmark = pytest.mark.skipif(not HAS_UCX, reason="built without libucx")


@pytest.fixture(autouse=True)
def routes_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_LOG_LEVEL", "debug")  # says which way messages take


def listening(host: Host) -> set[str]:
    """The addresses on which anything but Redis listens."""
    lines = [line for line in host.run("ss", "-Htln").splitlines() if ":6379" not in line]
    return {line.split()[3].rsplit(":", 1)[0] for line in lines}


def test_three_hosts_talk_over_tcp(network: Network, discovery: str) -> None:
    master, workers = start_all(network, discovery, "ucx", rounds=50, bytes=300_000)
    assert master.wait() == 0, master.lines
    assert sum("replies [w1 w2] lost [] whole" in line for line in master.lines) == 50
    for worker in workers:
        assert worker.wait() == 0, worker.lines
    routes = [line.rsplit("ucx ", 1)[1] for line in master.lines if "is reached over" in line]
    assert routes, master.lines
    assert set(routes) == {"tcp"}


def test_two_on_one_host_may_share_memory_while_the_third_is_elsewhere(
    network: Network, discovery: str
) -> None:
    near, far, _ = network.hosts
    ucx = {"driver": "ucx", "ucx__transports": "posix,tcp"}
    network.party(near, "worker", discovery, name="w1", **ucx)
    network.party(far, "worker", discovery, name="w2", **ucx)
    master = network.party(near, "master", discovery, workers=2, rounds=20, **ucx)
    assert master.wait() == 0, master.lines
    assert sum("replies [w1 w2] lost [] whole" in line for line in master.lines) == 20
    assert any(re.search("'w1' is reached over ucx posix$", line) for line in master.lines)
    assert any(re.search("'w2' is reached over ucx tcp$", line) for line in master.lines)


def test_a_process_that_is_killed_elsewhere_is_noticed(network: Network, discovery: str) -> None:
    master, workers = start_all(network, discovery, "ucx", rounds=0, pause_ms=20)
    seen = master.wait_for(BOTH)
    workers[0].kill()
    master.wait_for(ONLY_W2, after=seen)


def test_a_wrong_secret_lets_nobody_in(network: Network, discovery: str) -> None:
    master, _ = start_all(network, discovery, "ucx", rounds=0, pause_ms=20)
    stranger = network.party(
        *[network.hosts[2], "worker", discovery],
        **{"name": "stranger", "secret": "not the secret", "join_ms": 3000, "driver": "ucx"},
    )
    assert stranger.wait() == 1
    assert any("is MUSTER_SECRET the same?" in line for line in stranger.lines), stranger.lines
    assert not any("stranger" in line for line in master.lines if "replies" in line), master.lines
    master.wait_for(BOTH, after=len(master.lines))


def test_without_a_secret_it_listens_on_loopback_only(network: Network, discovery: str) -> None:
    host = network.hosts[0]
    assert listening(host) == set()
    worker = network.party(
        host, "worker", discovery, name="w", driver="ucx", secret=None, ucx__transports="tcp"
    )
    master = network.party(
        *[host, "master", discovery],
        **{"workers": 1, "rounds": 0, "pause_ms": 20, "driver": "ucx", "secret": None},
        ucx__transports="tcp",
    )
    master.wait_for(r"round \d+ replies \[w\] lost \[\] whole")
    assert listening(host) == {"127.0.0.1"}
    worker.kill()
    master.kill()


def test_with_a_secret_it_listens_on_the_network(network: Network, discovery: str) -> None:
    master, _ = start_all(network, discovery, "ucx", rounds=0, pause_ms=20)
    master.wait_for(BOTH)
    assert network.hosts[0].address in listening(network.hosts[0])


def test_without_a_secret_other_hosts_are_refused_with_a_remedy(
    network: Network, discovery: str
) -> None:
    network.party(network.hosts[1], "worker", discovery, name="w1", secret=None, driver="ucx")
    master = network.party(
        *[network.hosts[0], "master", discovery],
        **{"workers": 1, "secret": None, "join_ms": 3000, "driver": "ucx"},
    )
    assert master.wait() == 1
    assert any("MUSTER_SECRET" in line for line in master.lines), master.lines
