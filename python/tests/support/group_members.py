"""What the ranks of a group do with its members, for the tests of muster.collective."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from ranks import LEASE, PATIENCE

from muster.collective import CallCancelledError, Group
from muster.communication import ProxyClosedError


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
    results["finished"] = (shrunk.finished, shrunk.last, shrunk.by_tag)
    return results


def thread_lives(number):
    """Whether it is more than what the kernel has to tidy up yet: that may be there for a moment
    after the thread was joined."""
    exiting = 4  # PF_EXITING
    try:
        stat = Path(f"/proc/self/task/{number}/stat").read_text()
    except OSError:
        return False
    return not int(stat.rpartition(")")[2].split()[6]) & exiting


def possessions():
    """How many threads, descriptors and maps of groups this process has."""
    with open("/proc/self/maps") as maps:
        mapped = sum("muster-group" in line for line in maps)
    threads = sum(map(thread_lives, os.listdir("/proc/self/task")))
    return threads, len(os.listdir("/proc/self/fd")), mapped


def closed_and_not_let_go(group):
    """What this process has before and after it had another group, which it closed, or left with
    a block; what stays for the next one is there before."""

    def another():
        options = {"rank": group.rank, "plane": group.plane, "lease": LEASE}
        return Group.join(f"{group.name}.another", group.size, **options)

    with another() as first:
        first.allreduce(np.ones(1000))
    del first
    had = [possessions()]
    second = another()
    handle = second.iallreduce(np.ones(1000))
    handle.wait(PATIENCE)
    second.close()
    had.append(possessions())
    with another() as third:
        third.allreduce(np.ones(1000))
    had.append(possessions())
    group.barrier(timeout=PATIENCE)
    return had, handle.test(), kind_of_closed_error(third)


def kind_of_closed_error(group):
    try:
        return group.barrier(timeout=PATIENCE)
    except ProxyClosedError as error:
        return type(error).__name__


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
