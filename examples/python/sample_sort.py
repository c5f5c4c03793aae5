"""Parallel sample sort: numbers spread over the ranks end up sorted, rank 0 with the smallest.

Every rank gives a few of its numbers as samples; from all samples, splitters are chosen that cut
the numbers into one range for each rank; an all-to-all brings every number to its rank.
"""

import multiprocessing
import os

import numpy as np

from muster.collective import Group

RANKS = 3
NUMBERS = 100_000  # on each rank


# region sort
def sample_sort(group, own):
    """What belongs between the same splitters comes to the same rank, sorted."""
    n = group.size
    own = np.sort(own)
    samples = own[np.arange(n) * len(own) // n]
    every = np.sort(group.allgather(samples), axis=None)
    splitters = np.searchsorted(own, every[n::n])
    counts = np.diff(np.concatenate(([0], splitters, [len(own)])))
    return np.sort(group.all_to_all(own, counts=counts))


# endregion


def run(name, rank, results):
    with Group.join(name, RANKS, rank=rank) as group:
        own = np.random.default_rng(rank).integers(0, 1_000_000, NUMBERS)
        total = group.allreduce(np.array([own.sum()]))
        mine = sample_sort(group, own)
        assert group.allreduce(np.array([mine.sum()])) == total
        results.put((rank, len(mine), int(mine[0]), int(mine[-1])))


if __name__ == "__main__":
    name = f"sample-sort-{os.getpid()}"  # two runs at a time do not meet
    results = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=run, args=(name, r, results)) for r in range(RANKS)]
    for process in processes:
        process.start()
    ended = sorted(results.get(timeout=50) for _ in range(RANKS))
    for process in processes:
        process.join(10)
    for rank, count, first, last in ended:
        print(f"rank {rank} has {count} numbers from {first} to {last}")
    assert sum(count for _, count, _, _ in ended) == RANKS * NUMBERS
    borders = [edge for *_, first, last in ended for edge in (first, last)]
    assert borders == sorted(borders)
