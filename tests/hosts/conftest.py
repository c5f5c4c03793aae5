"""Three hosts, and a Redis server on the first of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.hosts import Network


@pytest.fixture
def network() -> Iterator[Network]:
    network = Network(3)
    yield network
    network.close()


@pytest.fixture
def discovery(network: Network, tmp_path: Path) -> str:
    return network.start_redis(network.hosts[0], tmp_path)
