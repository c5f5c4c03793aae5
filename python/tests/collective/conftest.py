"""Fixtures: groups of real processes, each test with a discovery folder of its own."""

from __future__ import annotations

import itertools
import multiprocessing
import queue as queues
import shutil
import tempfile

import pytest
import ranks

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def runtime_dir(monkeypatch):
    """Where the ranks of one test find each other. Short, because sockets go there."""
    folder = tempfile.mkdtemp(prefix="mst")
    monkeypatch.setenv("MUSTER_RUNTIME_DIR", folder)
    for name in ("MUSTER_SECRET", "MUSTER_RANK", "MUSTER_SIZE", "MUSTER_GROUP"):
        monkeypatch.delenv(name, raising=False)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def name():
    return f"ranks{next(_numbers)}"


@pytest.fixture
def run_ranks(name):
    """Runs a function in a group of processes; returns what each rank returned, by rank. Ranks that
    are to die are not waited for."""
    children = []

    def run(function, size, *arguments, plane="auto", dies=(), patience=ranks.PATIENCE):
        context = multiprocessing.get_context("spawn")
        results = context.Queue()
        for rank in range(size):
            args = (function, rank, size, name, results, plane, arguments)
            child = context.Process(target=ranks.run, args=args, daemon=True)
            child.start()
            children.append(child)
        by_rank = {}
        while len(by_rank) < size - len(dies):
            try:
                rank, result = results.get(timeout=patience)
            except queues.Empty:
                pytest.fail(f"only the ranks {sorted(by_rank)} of {size} answered")
            by_rank[rank] = result
        return by_rank

    yield run
    for child in children:
        child.kill()
        child.join(30)


@pytest.fixture
def alone(name):
    """A group of one, for what needs nobody else."""
    from muster.collective import Group

    with Group.join(name, 1) as group:
        yield group
