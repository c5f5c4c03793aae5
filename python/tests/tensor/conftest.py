"""What all tests of tensors share."""

import os
from collections.abc import Iterator

import numpy as np
import pytest
from beside_numpy import SEED

import muster

CLUSTER = os.environ.get("MUSTER_TEST_CLUSTER")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "here: about objects, locks or memory of this process; not for clusters"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CLUSTER is None:
        return
    for item in items:
        if item.get_closest_marker("here"):
            item.add_marker(pytest.mark.skip(reason="it is about this process"))


@pytest.fixture(scope="session", autouse=True)
def default_session() -> Iterator[None]:
    """With MUSTER_TEST_CLUSTER=http://host:port, what names no session runs on that cluster."""
    if CLUSTER is None:
        yield
    else:
        with muster.new_session(CLUSTER):
            yield


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Numbers of its own for each test."""
    print("MUSTER_TEST_SEED =", SEED)
    return np.random.default_rng([SEED, *request.node.name.encode()])
