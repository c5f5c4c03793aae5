"""A cluster whose disks or memory are too small: errors say what would help, and life goes on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import muster.tensor as mt
from muster.session import new_session
from tests.engine.cluster import Cluster

pytestmark = pytest.mark.timeout(180)

# Chunks of 1 MB, in a cache that holds 16 of them.
CHUNK = 125_000
SMALL = ("--cpu", "2", "--memory", "64m", "--cache", "16m")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def computed(session: object, tensor: object) -> object:
    session.execute(tensor)
    return session.fetch(tensor)


def works(session: object, items: int = 1_000_000) -> None:
    assert computed(session, mt.ones(items, chunk_size=CHUNK).sum()) == items


def test_a_full_spill_disk_fails_the_computation_and_not_the_worker(
    cluster_of: Callable[..., Cluster], small_disk: Path
) -> None:
    cluster = cluster_of(1, *SMALL, "--spill-dir", str(small_disk))
    session = new_session(cluster.url)
    large = mt.random.rand(8_000_000, chunk_size=CHUNK)
    with pytest.raises(MemoryError) as failed:
        session.execute(large)
    said = str(failed.value)
    assert "No space left on device" in said
    assert str(small_disk) in said
    assert "add directories to spillDirs, or raise workerCacheSize" in said
    works(session)
    # What fits into memory and disk together is computed.
    fits = mt.random.rand(2_000_000, chunk_size=CHUNK)
    session.execute(fits)
    assert abs(computed(session, fits.mean()) - 0.5) < 0.01
    assert cluster.workers["w0"].process.poll() is None
    assert cluster.count_workers() == 1


def test_an_upload_that_does_not_fit_says_so_and_leaves_nothing(
    cluster_of: Callable[..., Cluster], small_disk: Path
) -> None:
    cluster = cluster_of(1, *SMALL, "--spill-dir", str(small_disk))
    session = new_session(cluster.url)
    with pytest.raises(MemoryError) as failed:
        session.execute(mt.tensor(np.zeros(8_000_000), chunk_size=CHUNK))
    said = str(failed.value)
    assert "worker 'w0'" in said
    assert "raise workerCacheSize" in said
    works(session)
    numbers = np.arange(500_000.0)
    assert computed(session, mt.tensor(numbers, chunk_size=CHUNK).sum()) == numbers.sum()


def test_without_spill_folders_the_error_asks_for_them(cluster_of: Callable[..., Cluster]) -> None:
    cluster = cluster_of(1, *SMALL)
    session = new_session(cluster.url)
    with pytest.raises(MemoryError, match="give spillDirs"):
        session.execute(mt.random.rand(8_000_000, chunk_size=CHUNK))
    works(session)


def test_a_cache_that_does_not_fit_into_its_folder_is_refused(
    bare_cluster: Cluster, small_disk: Path
) -> None:
    bare_cluster.start_scheduler()
    done = bare_cluster.muster(
        "worker", "-s", bare_cluster.scheduler_at, "--plasma-dir", str(small_disk), "--cache", "64m"
    )
    assert done.returncode != 0
    assert str(small_disk) in done.stderr or "--cache" in done.stderr
    assert "--shm-size" in done.stderr or "workerCacheSize" in done.stderr


def test_memory_that_others_take_is_an_error_and_not_a_crash(
    cluster_of: Callable[..., Cluster], small_disk: Path
) -> None:
    cluster = cluster_of(1, "--cpu", "1", "--plasma-dir", str(small_disk), "--cache", "6m")
    session = new_session(cluster.url)
    works(session, CHUNK)
    hog = small_disk / "hog"
    with hog.open("wb") as file, pytest.raises(OSError, match="No space"):
        file.write(bytes(16 << 20))
    with pytest.raises(MemoryError, match="--shm-size"):
        session.execute(mt.random.rand(5 * CHUNK, chunk_size=CHUNK))
    hog.unlink()
    works(session, 2 * CHUNK)
    assert cluster.workers["w0"].process.poll() is None


# Chunks of three quarters of what a worker keeps: no two of them, nor one and its copy.
LARGE = (3 << 20) // 8


@pytest.fixture
def narrow(cluster_of: Callable[..., Cluster], bare_cluster: Cluster) -> Iterator[object]:
    spill = str(bare_cluster.spill_dir())
    cluster = cluster_of(2, "--cpu", "1", "--cache", "4m", "--spill-dir", spill)
    with new_session(cluster.url) as session:
        yield session


def test_large_chunks_are_cut_and_computed_with(narrow: object) -> None:
    numbers = np.random.default_rng(1).random(6 * LARGE)
    tensor = mt.tensor(numbers, chunk_size=LARGE)
    cut = computed(narrow, tensor.rechunk(LARGE // 3))
    np.testing.assert_array_equal(cut, numbers)
    np.testing.assert_array_equal(computed(narrow, tensor[10:-10:2] * 2), numbers[10:-10:2] * 2)
    np.testing.assert_array_equal(computed(narrow, mt.sort(tensor)), np.sort(numbers))


def test_a_task_that_never_fits_is_an_error_that_names_the_remedy(narrow: object) -> None:
    tensor = mt.tensor(np.ones(6 * LARGE), chunk_size=LARGE)
    with pytest.raises(MemoryError) as failed:
        narrow.execute(tensor.rechunk(LARGE // 2 + 7))
    said = str(failed.value)
    assert "rechunk" in said
    assert "the 2 inputs have" in said
    assert "make chunks smaller or raise workerCacheSize" in said
    works(narrow)
