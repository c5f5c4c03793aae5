"""Parallel sample sort: numbers spread over the ranks end up sorted, rank 0 with the smallest.

Every rank gives a few of its numbers as samples; from all samples, splitters are chosen that cut
the numbers into one range for each rank; an all-to-all brings every number to its rank. It starts
its ranks itself, or leaves that to

    muster run -n 4 -- python sample_sort.py
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


def sort_numbers(group):
    own = np.random.default_rng(group.rank).integers(0, 1_000_000, NUMBERS)
    mine = sample_sort(group, own)
    print(f"rank {group.rank} has {len(mine)} numbers from {mine[0]} to {mine[-1]}", flush=True)
    # Nothing is lost, and no rank has a number that is larger than one of the next.
    before, after = group.allreduce(np.array([[own.sum(), NUMBERS], [mine.sum(), len(mine)]]))
    assert (before == after).all()
    borders = group.allgather(mine[[0, -1]]).ravel()
    assert (borders == np.sort(borders)).all()


def join_and_sort(name, rank):
    with Group.join(name, RANKS, rank=rank) as group:
        sort_numbers(group)


def start_ranks():
    name = f"sample-sort-{os.getpid()}"  # two runs at a time do not meet
    processes = [
        multiprocessing.Process(target=join_and_sort, args=(name, rank)) for rank in range(RANKS)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(50)
    assert all(process.exitcode == 0 for process in processes)


if __name__ == "__main__":
    if "MUSTER_RANK" in os.environ:
        with Group.from_environment() as group:
            sort_numbers(group)
    else:
        start_ranks()
