"""What the ranks of a group do with its members, for the tests of muster.collective."""

from __future__ import annotations

import numpy as np
from ranks import LEASE, PATIENCE

from muster.collective import CallCancelledError, Group


def members(group):
    """What split, agree and grow give, and what follows a call that was cancelled."""
    rank, size = group.rank, group.size
    results = {}
    with group.split(0, -rank) as reverse, group.split(-1) as alone:
        results["split"] = (reverse.rank, reverse.size, alone.size)
        results["sum"] = reverse.allreduce(np.array([rank])).tolist()
    results["agree"] = group.agree(0b110 if rank == 0 else 0b011, timeout=PATIENCE)

    # The last rank comes later.
    late = rank == size - 1
    begun = Group.join(
        f"{group.name}.grows",
        size if late else size - 1,
        rank=None if late else rank,
        lease=LEASE,
    )
    grown = begun if late else begun.grow(1, timeout=PATIENCE)
    results["grow"] = (grown.rank, grown.size, grown.epoch, grown.allreduce(np.ones(1)).tolist())
    grown.close()

    # Rank 0 gives a call up that the others have not begun.
    if rank == 0:
        handle = group.iallreduce(np.ones(3))
        results["over"] = handle.test()
        handle.cancel()
        results["cancelled"] = kind_of_error(lambda: handle.wait(PATIENCE))
        group.agree(0, timeout=PATIENCE)
    else:
        group.agree(0, timeout=PATIENCE)
        results["cancelled"] = kind_of_error(lambda: until_it_fails(group))
    shrunk = group.shrink(timeout=PATIENCE)
    results["after"] = (shrunk.lost, shrunk.group.allreduce(np.ones(1)).tolist())
    return results


def kind_of_error(call):
    try:
        return call()
    except CallCancelledError as error:
        return type(error).__name__


def until_it_fails(group):
    """Rank 0 may have given its part to one call before it gave up."""
    for _ in range(2):
        group.allreduce(np.ones(3), timeout=PATIENCE)
    return "nothing"
