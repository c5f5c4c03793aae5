"""The predecessor's way of placing containers, written anew: a heap of requests, a heap of nodes.

Balanced takes the node with most of the metric free, compacted the one with least that has room.
Prints the milliseconds of both for 1,000 nodes and 5,000 containers as a JSON object.
"""

from __future__ import annotations

import heapq
import json
import random
import time

NODES, CONTAINERS = 1000, 5000

Resources = tuple[float, float, int]  # cpu, memory, gpu


def requests() -> list[Resources]:
    chance = random.Random(1)
    return [
        (
            0.5 + 0.25 * chance.randrange(13),
            0.5 * chance.randrange(1, 17),
            int(chance.random() < 0.1),
        )
        for _ in range(CONTAINERS)
    ]


def place(sign: int) -> dict[int, int]:
    """The node of each container; `sign` is -1 for balanced and 1 for compacted."""
    free = [[16.0, 64.0, number % 4] for number in range(NODES)]
    nodes = [(sign * node[0], number) for number, node in enumerate(free)]
    heapq.heapify(nodes)
    queue = [(-request[0], number, request) for number, request in enumerate(requests())]
    heapq.heapify(queue)
    placed = {}
    while queue:
        _, container, request = heapq.heappop(queue)
        passed_over = []
        while nodes:
            entry = heapq.heappop(nodes)
            node = free[entry[1]]
            if all(have >= need for have, need in zip(node, request)):
                node[:] = [have - need for have, need in zip(node, request)]
                heapq.heappush(nodes, (sign * node[0], entry[1]))
                placed[container] = entry[1]
                break
            passed_over.append(entry)
        for entry in passed_over:
            heapq.heappush(nodes, entry)
    return placed


def milliseconds(sign: int) -> float:
    began = time.perf_counter()
    place(sign)
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    print(json.dumps({"balanced": milliseconds(-1), "compacted": milliseconds(1)}))
