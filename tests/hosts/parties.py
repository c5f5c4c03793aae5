"""A master and two workers on three hosts, and what they say when all is well."""

from __future__ import annotations

from tests.hosts.hosts import Network
from tests.support.processes import PARTY, Process

BOTH = r"round \d+ replies \[w1 w2\] lost \[\] whole"
ONLY_W2 = r"round \d+ replies \[w2\] lost \[\] whole"

HAS_UCX = PARTY.with_name("libmuster_ucx.so").exists()


def start_all(
    network: Network, discovery: str, driver: str = "auto", **settings: object
) -> tuple[Process, list[Process]]:
    """A master on the first host, a worker on each of the others."""
    common = {"driver": driver, "rejoin": 1, "lease_ms": settings.pop("lease_ms", 1500)}
    workers = [
        network.party(host, "worker", discovery, name=f"w{number}", **common)
        for number, host in enumerate(network.hosts[1:], start=1)
    ]
    master = network.party(
        network.hosts[0], "master", discovery, workers=2, **{**common, **settings}
    )
    master.wait_for("joined master")
    return master, workers
