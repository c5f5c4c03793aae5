"""An elastic loop: after every step the ranks agree whether all of them did it, and a new process
takes the place of one that is lost.

One rank is killed on the way. The program starts its ranks itself, and the new one.
"""

import multiprocessing
import os
import signal
from multiprocessing.connection import wait

import numpy as np

from muster.collective import Group, RankLostError

RANKS = 3
STEPS = 60


# region elastic
def all_did(group, total):
    """One step. Either all that are there count it, or none of them does."""
    try:
        group.allreduce(total, out=total)
        done = 1
    except RankLostError as error:
        print(f"rank {group.rank}: {error}", flush=True)
        done = 0
    bits, _ = group.agree(done)  # what all say, whoever is lost meanwhile
    return bits == 1


def work(group, state):
    """``state``: how many steps are done, and what they came to."""
    group.broadcast(state)  # from rank 0, which is not new
    while state[0] < STEPS:
        if group.rank == 1 and group.epoch == 1 and state[0] == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        total = np.array([1])
        if all_did(group, total):
            state += [1, total[0]]
            continue
        shrunk = group.shrink()
        group = shrunk.group.grow(len(shrunk.lost))  # returns when as many have joined
        group.broadcast(state)
    return group


# endregion


def run(name):
    # The first ranks meet each other here, and the one that comes later those that are left.
    group = Group.join(name, RANKS)
    state = np.zeros(2, np.int64)
    if group.epoch > 1:
        print(f"rank {group.rank} is new", flush=True)
    with work(group, state) as group:
        print(f"rank {group.rank} of {group.size}: {state[0]} steps came to {state[1]}", flush=True)
    assert state.tolist() == [STEPS, RANKS * STEPS]


if __name__ == "__main__":
    name = f"elastic-{os.getpid()}"  # two runs at a time do not meet

    def start():
        process = multiprocessing.Process(target=run, args=(name,))
        process.start()
        return process

    running = [start() for _ in range(RANKS)]
    while running:
        ended = wait([process.sentinel for process in running], timeout=50)
        assert ended, "no rank ends"
        for process in [process for process in running if process.sentinel in ended]:
            process.join()
            running.remove(process)
            if process.exitcode == -signal.SIGKILL:
                running.append(start())
            else:
                assert process.exitcode == 0
