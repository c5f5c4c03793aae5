"""A program that waits in one call after the other and is interrupted in each:
``interrupted_rank.py NAME``. Run by test_interrupt.py, which sends SIGINT after every line that
begins with "waiting" and expects one that begins with "interrupted"."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from muster.collective import Group


def wait_in(what, call):
    try:
        print("waiting", what, flush=True)
        call()
    except KeyboardInterrupt:
        print("interrupted", what, flush=True)
    else:
        print("returned from", what, flush=True)


def calls_of_a_pair(name, plane):
    """Rank 1 is a thread that joins, and then calls nothing."""
    with ThreadPoolExecutor(1) as other:
        idle = other.submit(Group.join, name, 2, rank=1, plane=plane)
        group = Group.join(name, 2, rank=0, plane=plane)
        started = group.iallreduce(np.ones(3))
        wait_in(f"agree {plane}", lambda: group.agree(1))
        wait_in(f"recv {plane}", lambda: group.recv(np.empty(3), 1))
        wait_in(f"wait {plane}", started.wait)
        wait_in(f"grow {plane}", lambda: group.grow(1))
        wait_in(f"split {plane}", lambda: group.split(0, tag=1))
        group.close()
        idle.result().close()
    with ThreadPoolExecutor(1) as other:
        idle = other.submit(Group.join, name, 2, rank=1, plane=plane)
        group = Group.join(name, 2, rank=0, plane=plane)
        wait_in(f"allreduce {plane}", lambda: group.allreduce(np.ones(3)))
        wait_in(f"shrink {plane}", group.shrink)
        group.close()
        idle.result().close()


def main(name):
    wait_in("join", lambda: Group.join(f"{name}.join", 2))
    os.environ.update(MUSTER_RANK="0", MUSTER_SIZE="2", MUSTER_GROUP=f"{name}.environment")
    wait_in("from_environment", Group.from_environment)
    for plane in ("shared", "network"):
        calls_of_a_pair(f"{name}.{plane}", plane)


if __name__ == "__main__":
    main(sys.argv[1])
