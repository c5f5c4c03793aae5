"""Data-parallel training by stochastic gradient descent: every rank draws small batches of its own
data, and the gradients are averaged.

The model is a small network that learns a sine. One rank is killed on the way; the others go on
without it. It starts its ranks itself, or leaves that to

    muster run --keep-going -n 3 -- python data_parallel.py
"""

import multiprocessing
import os
import signal

import numpy as np

from muster.collective import Group, RankLostError

RANKS = 3
STEPS = 600
HIDDEN = 24
SAMPLES = 256  # of each rank
BATCH = 32


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


def draw_batches(random):
    """Passes over all samples again and again, in a new order each time."""
    while True:
        yield from random.permutation(SAMPLES).reshape(-1, BATCH)


# region recover
def recover(group, model, step):
    """Goes on with the ranks that are left. They may differ by one step: all take rank 0's."""
    shrunk = group.shrink()
    print(f"all finished {shrunk.finished} calls, the last: {shrunk.last}", flush=True)
    group = shrunk.group
    group.broadcast(model.weights)
    return group, int(group.broadcast(np.array([step]))[0])


# endregion


def train(group):
    """Returns how many ranks are left, the loss, and the weights."""
    rank = group.rank
    random = np.random.default_rng(rank)
    x = random.uniform(-3, 3, SAMPLES)
    y = np.sin(x)
    batches = draw_batches(random)
    model = Model()
    step = 0
    # region train
    while step < STEPS:
        if rank == 1 and step == 200:
            os.kill(os.getpid(), signal.SIGKILL)
        batch = next(batches)
        gradient, _ = model.gradient(x[batch], y[batch])
        try:
            group.allreduce(gradient, out=gradient, op="mean")
        except RankLostError as error:
            print(f"rank {rank}: {error}", flush=True)
            group, step = recover(group, model, step)
            continue
        model.weights -= 0.3 * gradient
        step += 1
    # endregion
    _, loss = model.gradient(x, y)
    group.close()
    print(f"rank {rank} ended in a group of {group.size} with a loss of {loss:.4f}", flush=True)
    return group.size, loss, model.weights.tobytes()


def run(name, rank, results):
    results.put(train(Group.join(name, RANKS, rank=rank)))


def start_ranks():
    name = f"data-parallel-{os.getpid()}"  # two runs at a time do not meet
    results = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=run, args=(name, r, results)) for r in range(RANKS)]
    for process in processes:
        process.start()
    ended = [results.get(timeout=50) for _ in range(RANKS - 1)]
    for process in processes:
        process.join(10)
    assert all(size == RANKS - 1 and loss < 0.1 for size, loss, _ in ended)
    assert len({weights for *_, weights in ended}) == 1, "the ranks have different weights"


if __name__ == "__main__":
    if "MUSTER_RANK" in os.environ:
        train(Group.from_environment())
    else:
        start_ranks()
