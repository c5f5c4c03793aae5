"""Proxies on three hosts (network namespaces) with trouble on the links. Needs root."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.hosts.hosts import Network
from tests.hosts.parties import BOTH, HAS_UCX, ONLY_W2, start_all

RELAY = Path(__file__).with_name("relay.py")

each_driver = pytest.mark.parametrize(
    "driver",
    ["auto", pytest.param("ucx", marks=pytest.mark.skipif(not HAS_UCX, reason="no libucx"))],
)


def test_three_hosts_find_each_other_and_talk(network: Network, discovery: str) -> None:
    master, workers = start_all(network, discovery, rounds=50, bytes=100_000)
    assert master.wait() == 0, master.lines
    assert sum("replies [w1 w2] lost [] whole" in line for line in master.lines) == 50
    for worker in workers:
        assert worker.wait() == 0, worker.lines


@each_driver
def test_lost_packets_lose_no_messages(network: Network, discovery: str, driver: str) -> None:
    with network.hosts[1].lossy(0.05), network.hosts[2].lossy(0.02):
        master, _ = start_all(network, discovery, driver, rounds=30, bytes=20_000)
        assert master.wait() == 0, master.lines
    assert sum("replies [w1 w2] lost [] whole" in line for line in master.lines) == 30


@each_driver
def test_a_host_that_is_cut_off_is_lost_and_comes_back(
    network: Network, discovery: str, driver: str
) -> None:
    master, _ = start_all(network, discovery, driver, rounds=0, pause_ms=20)
    seen = master.wait_for(BOTH)
    with network.hosts[1].cut():
        seen = master.wait_for(r"lost \[w1\]", after=seen)
        seen = master.wait_for(ONLY_W2, after=seen)
    master.wait_for(BOTH, after=seen)


def test_an_unplugged_host_is_lost_and_comes_back(network: Network, discovery: str) -> None:
    master, _ = start_all(network, discovery, rounds=0, pause_ms=20)
    seen = master.wait_for(BOTH)
    with network.hosts[1].unplugged():
        seen = master.wait_for(ONLY_W2, after=seen)
    master.wait_for(BOTH, after=seen)


@each_driver
def test_a_host_that_dies_is_noticed(network: Network, discovery: str, driver: str) -> None:
    master, workers = start_all(network, discovery, driver, rounds=0, pause_ms=20)
    seen = master.wait_for(BOTH)
    with network.hosts[1].cut():
        workers[0].kill()
        seen = master.wait_for(ONLY_W2, after=seen)
    network.party(
        network.hosts[1], "worker", discovery, name="w1", rejoin=1, lease_ms=1500, driver=driver
    )
    master.wait_for(BOTH, after=seen)


@each_driver
def test_a_slow_link_is_not_taken_for_a_dead_one(
    network: Network, discovery: str, driver: str
) -> None:
    # Each message keeps the line busy for longer than the lease, which is renewed on the same line.
    with network.hosts[1].slow(400_000):
        master, _ = start_all(network, discovery, driver, rounds=2, bytes=1_600_000, lease_ms=3000)
        assert master.wait() == 0, master.lines
    assert sum("replies [w1 w2] lost [] whole" in line for line in master.lines) == 2


def test_a_long_way_is_no_trouble(network: Network, discovery: str) -> None:
    w1 = network.hosts[1]
    relay = w1.start(sys.executable, str(RELAY), "7001", w1.address, "7002", "0.05")
    relay.wait_for("relaying")
    network.party(
        *[w1, "worker", discovery],
        name="w1",
        zmq__port=7002,
        zmq__advertise=f"{w1.address}:7001",
    )
    master = network.party(network.hosts[0], "master", discovery, workers=1, rounds=20, bytes=1000)
    assert master.wait() == 0, master.lines
    assert sum("replies [w1] lost [] whole" in line for line in master.lines) == 20


def test_redis_may_restart_while_they_talk(network: Network, tmp_path: Path) -> None:
    host = network.hosts[0]
    discovery = network.start_redis(host, tmp_path)
    master, _ = start_all(network, discovery, rounds=0, pause_ms=20)
    seen = master.wait_for(BOTH)
    host.processes[0].kill()
    seen = master.wait_for(BOTH, after=len(master.lines))
    password = discovery.split(":")[2].split("@")[0]
    again = host.start(
        *["redis-server", "--bind", host.address, "--port", "6379", "--save", ""],
        *["--requirepass", password, "--dir", str(tmp_path)],
    )
    again.wait_for("Ready to accept connections")
    master.wait_for(BOTH, after=len(master.lines))
    late = network.party(network.hosts[2], "worker", discovery, name="w3")
    late.wait_for("joined w3")
    master.wait_for(r"replies \[w1 w2 w3\] lost \[\] whole", after=seen)


def test_a_wrong_secret_lets_nobody_in(network: Network, discovery: str) -> None:
    master, _ = start_all(network, discovery, rounds=0, pause_ms=20)
    stranger = network.party(
        *[network.hosts[2], "worker", discovery],
        name="stranger",
        secret="not the secret",
        join_ms=3000,
    )
    assert stranger.wait() == 1
    assert any("only 0 of 1 'master' found" in line for line in stranger.lines), stranger.lines
    assert not any("stranger" in line for line in master.lines if "replies" in line), master.lines
    master.wait_for(BOTH, after=len(master.lines))


def test_without_a_secret_other_hosts_are_refused_with_a_remedy(
    network: Network, discovery: str
) -> None:
    worker = network.party(network.hosts[1], "worker", discovery, name="w1", secret=None)
    master = network.party(
        network.hosts[0], "master", discovery, workers=1, secret=None, join_ms=3000
    )
    assert master.wait() == 1
    assert any("MUSTER_SECRET" in line for line in master.lines), master.lines
    worker.kill()
