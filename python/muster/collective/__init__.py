"""Processes that compute together.

A :class:`Group` has ranks 0 to size-1, which call the same operations in the same order::

    from muster.collective import Group

    with Group.from_environment() as group:  # as `muster run -n 4 -- python train.py` sets it
        gradients = group.allreduce(gradients, op="mean")

Everything works on NumPy arrays and on whatever has the buffer protocol or DLPack in the memory of
the processor (a CPU tensor of PyTorch), without a copy.
"""

from muster.collective._group import FinishedCalls, Group, Shrunk
from muster.collective._handle import Handle
from muster.communication.exceptions import (
    CallCancelledError,
    CallMismatchError,
    ExpelledError,
    GroupFullError,
    MusterError,
    OperationTimeoutError,
    RankLostError,
    ReductionFailedError,
)

__all__ = [
    "CallCancelledError",
    "CallMismatchError",
    "ExpelledError",
    "FinishedCalls",
    "Group",
    "GroupFullError",
    "Handle",
    "MusterError",
    "OperationTimeoutError",
    "RankLostError",
    "ReductionFailedError",
    "Shrunk",
]
