"""Data-parallel training: every rank has its own data, and the gradients are averaged.

The model is a small network that learns a sine. One rank is killed on the way; the others go on
without it.
"""

import multiprocessing
import os
import signal

import numpy as np

from muster.collective import Group, RankLostError

RANKS = 3
STEPS = 600
HIDDEN = 24


class Model:
    """One hidden layer; all weights lie in one array, so that one call averages all gradients."""

    def __init__(self) -> None:
        self.weights = np.random.default_rng(0).normal(0, 0.5, 3 * HIDDEN)

    def gradient(self, x, y):
        w, b, v = self.weights.reshape(3, HIDDEN)
        hidden = np.tanh(np.outer(x, w) + b)
        error = hidden @ v - y
        back = np.outer(error, v) * (1 - hidden**2)
        parts = [back.T @ x, back.sum(0), hidden.T @ error]
        return np.concatenate(parts) / len(x), float((error**2).mean())


# region recover
def recover(group, model, step):
    """Goes on with the ranks that are left. They may differ by one step: all take rank 0's."""
    group = group.shrink().group
    group.broadcast(model.weights)
    return group, int(group.broadcast(np.array([step]))[0])


# endregion


def train(rank, results):
    group = Group.join("data-parallel", RANKS, rank=rank)
    x = np.random.default_rng(rank).uniform(-3, 3, 256)
    model = Model()
    step, loss = 0, 0.0
    # region train
    while step < STEPS:
        if rank == 1 and step == 200:
            os.kill(os.getpid(), signal.SIGKILL)
        gradient, loss = model.gradient(x, np.sin(x))
        try:
            group.allreduce(gradient, out=gradient, op="mean")
        except RankLostError as error:
            print(f"rank {rank}: {error}", flush=True)
            group, step = recover(group, model, step)
            continue
        model.weights -= 0.3 * gradient
        step += 1
    # endregion
    results.put((rank, group.size, loss, model.weights.tobytes()))
    group.close()


if __name__ == "__main__":
    results = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=train, args=(r, results)) for r in range(RANKS)]
    for process in processes:
        process.start()
    ended = [results.get(timeout=50) for _ in range(RANKS - 1)]
    for process in processes:
        process.join(10)
    for rank, size, loss, _ in sorted(ended):
        print(f"rank {rank} ended in a group of {size} with a loss of {loss:.4f}")
    assert all(size == RANKS - 1 and loss < 0.1 for _, size, loss, _ in ended)
    assert len({weights for *_, weights in ended}) == 1, "the ranks have different weights"
