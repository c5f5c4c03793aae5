"""Ranks that call something else than the others, for the tests of muster.collective."""

from __future__ import annotations

import numpy as np
from ranks import PATIENCE

from muster.collective import CallMismatchError

ROOT = 2
# In rooted calls nobody waits for all others: those that do not notice are told by the next call.
PAIRS = "0 and rank 1|1 and rank 0|1 and rank 2|2 and rank 1"
EARLIER = f"before this barrier, rank ({PAIRS}) called different"
MISMATCHES = {
    "another operation": (
        lambda g: g.allreduce(np.zeros(4, "f4")),
        lambda g: g.barrier(),
        "rank 1 calls barrier",
    ),
    "another operation of the same size": (
        lambda g: g.allgather(np.zeros(4, "f4")),
        lambda g: g.all_to_all(np.zeros(12, "f4")),
        "rank 1 calls all_to_all of 4 float32",
    ),
    "another dtype": (
        lambda g: g.allreduce(np.zeros(4, "f4")),
        lambda g: g.allreduce(np.zeros(4, "i4")),
        "rank 1 calls allreduce of 4 int32 by sum",
    ),
    "another op": (
        lambda g: g.allreduce(np.zeros(4, "f4")),
        lambda g: g.allreduce(np.zeros(4, "f4"), op="max"),
        "rank 1 calls allreduce of 4 float32 by max",
    ),
    "a function": (
        lambda g: g.allreduce(np.zeros(4, "f4")),
        lambda g: g.allreduce(np.zeros(4, "f4"), op=np.maximum),
        "rank 1 calls allreduce of 4 float32 by a function",
    ),
    "another count": (
        lambda g: g.reduce_scatter(np.zeros(12, "u1")),
        lambda g: g.reduce_scatter(np.zeros(15, "u1")),
        "rank 1 calls reduce_scatter of 5 uint8 by sum",
    ),
    "another count at the root": (
        lambda g: g.broadcast(np.zeros(4), root=1),
        lambda g: g.broadcast(np.zeros(5), root=1),
        f"rank 1 calls broadcast of 5 float64 from rank 1|{EARLIER}",
    ),
    "another count for the root": (
        lambda g: g.gather(np.zeros(4), root=ROOT),
        lambda g: g.gather(np.zeros(5), root=ROOT),
        f"rank 1 calls gather of 5 float64 to rank 2|{EARLIER}",
    ),
    "another root": (
        lambda g: g.reduce(np.zeros(4), root=ROOT),
        lambda g: g.reduce(np.zeros(4), root=0),
        f"rank 1 calls reduce of 4 float64 by sum to rank 0|{EARLIER}",
    ),
    "other counts": (
        lambda g: g.allgather(np.zeros([1, 2, 3][g.rank]), counts=[1, 2, 3]),
        lambda g: g.allgather(np.zeros(2), counts=[2, 2, 2]),
        r"\brank 1\b",
    ),
    "other counts than the root": (
        lambda g: g.gather(np.zeros([1, 2, 3][g.rank]), root=ROOT, counts=[1, 2, 3]),
        lambda g: g.gather(np.zeros(3), root=ROOT, counts=[1, 3, 3]),
        r"\brank 1\b",
    ),
    "more than was sent": (
        lambda g: g.all_to_all(np.zeros(3), np.zeros(3), counts=[1] * 3, receive_counts=[1] * 3),
        lambda g: g.all_to_all(
            np.zeros(3), np.zeros(4), counts=[1] * 3, receive_counts=[2, 1, 1]
        ),
        r"\brank 1\b",
    ),
}  # fmt: skip


def mismatches(group):
    """Rank 1 calls something else than the others. What this rank was told, by what was wrong."""
    told = {}
    for what, (others, mine, _) in MISMATCHES.items():
        try:
            (mine if group.rank == 1 else others)(group)
            group.barrier(timeout=PATIENCE)
            told[what] = "nothing"
        except CallMismatchError as error:
            told[what] = str(error)
        group = group.shrink(timeout=PATIENCE).group
    return told
