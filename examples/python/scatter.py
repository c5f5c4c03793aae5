"""A master scatters parts of an array over workers and adds up what they return."""

import multiprocessing

import numpy as np

from muster.communication import Proxy, SessionType

GROUP = "scatter"
WORKERS = 3


# region worker
def worker() -> None:
    with Proxy(GROUP, "worker", {"master": 1}) as proxy:
        part = proxy.receive_once()
        proxy.reply(part, tag="sum", body=float(part.view.sum()))  # view: no copy of the array


# endregion


# region master
def master() -> None:
    numbers = np.arange(3_000_000, dtype=float)
    with Proxy(GROUP, "master", {"worker": WORKERS}) as proxy:
        parts = np.split(numbers, WORKERS)
        replies = proxy.scatter("part", SessionType.TASK, zip(proxy.peers["worker"], parts))
        print(f"the sum is {sum(reply.body for reply in replies):.0f}")


# endregion


def main() -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=worker) for _ in range(WORKERS)]
    for process in processes:
        process.start()
    master()
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
