"""Sorting four times as much as the workers of a cluster may keep in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import muster.tensor as mt
from muster.session import new_session
from tests.engine.cluster import Cluster

pytestmark = pytest.mark.timeout(300)

# Two workers keep 4 MiB each, so 32 MiB are four times as much.
CACHE = "4m"
BYTES = 32 << 20


def several(rng: np.random.Generator, size: int) -> Iterator[tuple[str, np.ndarray]]:
    values = rng.standard_normal(size)
    yield "random", values
    few = np.where(rng.random(size) < 0.1, np.nan, np.round(values))
    yield "few, and NaN", few
    yield "equal", np.full(size, 7.0)
    yield "descending", np.arange(size, 0, -1.0)


@pytest.fixture
def scarce(cluster_of: Callable[..., Cluster], bare_cluster: Cluster) -> Iterator[object]:
    spill = str(bare_cluster.spill_dir())
    cluster = cluster_of(2, "--cpu", "1", "--cache", CACHE, "--spill-dir", spill)
    with new_session(cluster.url) as session:
        yield session
    cluster.stop()
    assert cluster.leftovers() == [], cluster.text()


def test_sorts_four_times_the_memory(scarce: object) -> None:
    rng = np.random.default_rng(11)
    for kind, values in several(rng, BYTES // 8):
        chunk_size = int(rng.integers(20_000, 60_000))
        got = mt.sort(mt.tensor(values, chunk_size=chunk_size)).execute()
        assert scarce.get_cluster_info()["spilled"] > 0
        np.testing.assert_array_equal(got.fetch(), np.sort(values), err_msg=kind)


def test_equal_items_keep_their_order(scarce: object) -> None:
    # Pairs of 16 bytes are sorted.
    rng = np.random.default_rng(12)
    for kind, values in several(rng, BYTES // 16):
        got = mt.argsort(mt.tensor(values, chunk_size=50_000)).execute().fetch()
        np.testing.assert_array_equal(got, np.argsort(values, kind="stable"), err_msg=kind)


def test_chunks_larger_than_a_task_may_be_are_cut(scarce: object) -> None:
    values = np.random.default_rng(13).integers(0, 1000, BYTES // 8)
    got = mt.sort(mt.tensor(values, chunk_size=180_000)).execute()
    np.testing.assert_array_equal(got.fetch(), np.sort(values))


def test_long_lanes_of_several_axes(scarce: object) -> None:
    values = np.random.default_rng(14).random((2, BYTES // 16)).astype("f4")
    got = mt.sort(mt.tensor(values, chunk_size=(1, 70_000)), axis=1).execute()
    np.testing.assert_array_equal(got.fetch(), np.sort(values, axis=1))


def test_what_is_made_of_sorted_items(scarce: object) -> None:
    rng = np.random.default_rng(15)
    values = rng.integers(0, BYTES, BYTES // 8)
    tensor = mt.tensor(values, chunk_size=40_000).execute()
    np.testing.assert_array_equal(mt.unique(tensor).execute().fetch(), np.unique(values))
    assert mt.median(tensor).execute().fetch() == np.median(values)
    np.testing.assert_array_equal(mt.topk(tensor, 10).execute().fetch(), np.sort(values)[::-1][:10])
    middle = BYTES // 16
    assert mt.partition(tensor, middle)[middle].execute().fetch() == np.sort(values)[middle]
