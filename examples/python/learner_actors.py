"""A learner finds the best throw with actors; it goes on when 60 % of them have answered.

Each actor tries the angle that the learner proposes, with some noise, and tells how far the ball
flew. One actor is slow: its results of earlier rounds are cut off.
"""

import multiprocessing
import time
from enum import Enum

import numpy as np

from muster.communication import Proxy, RegisterTable, SessionType, dist

GROUP = "learner-actors"
ACTORS = 5
ROUNDS = 12


class Tag(Enum):
    ROLLOUT = "rollout"
    RESULT = "result"
    EXIT = "exit"


# region actor
class Thrower:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.slow = seed == 0

    def throw(self, angle: float) -> tuple[float, float]:
        if self.slow:
            time.sleep(0.1)
        tried = angle + self.random.normal(0, 0.15)
        return tried, float(np.sin(2 * tried))  # the distance; best at 45 degrees


def on_rollout(thrower, proxy, request):
    angle, distance = thrower.throw(request.body["angle"])
    body = {"round": request.body["round"], "angle": angle, "distance": distance}
    proxy.reply(request, tag=Tag.RESULT, body=body)


def on_exit(thrower, proxy, request):
    proxy.reply(request)
    proxy.close()


def actor(seed: int) -> None:
    proxy = Proxy(GROUP, "actor", {"learner": 1})
    handlers = {"learner:rollout:1": on_rollout, "learner:exit:1": on_exit}
    dist(proxy, handlers)(Thrower)(seed).launch()


# endregion


# region learner
def learner() -> float:
    with Proxy(GROUP, "learner", {"actor": ACTORS}) as proxy:
        table = RegisterTable(lambda: proxy.peers)
        table.register_event_handler("actor:result:60%", lambda results: [r.body for r in results])
        angle = 0.2
        for number in range(ROUNDS):
            table.clear()
            proxy.ibroadcast(
                "actor", Tag.ROLLOUT, SessionType.TASK, body={"round": number, "angle": angle}
            )
            best = max(collect(proxy, table, number), key=lambda result: result["distance"])
            angle += 0.5 * (best["angle"] - angle)
            print(f"round {number}: {np.degrees(angle):.1f} degrees, {best['distance']:.3f}")
        proxy.broadcast("actor", Tag.EXIT, SessionType.NOTIFICATION)  # waits for the stragglers
        return angle


def collect(proxy: Proxy, table: RegisterTable, number: int) -> list:
    """The results of this round, once 60 % of the actors have answered."""
    for message in proxy.receive():
        if message.body["round"] != number:
            continue  # a straggler
        if fired := table.push(message):
            return fired[0]
    raise RuntimeError("the proxy was closed")


# endregion


def main() -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=actor, args=(seed,)) for seed in range(ACTORS)]
    for process in processes:
        process.start()
    angle = learner()
    for process in processes:
        process.join()
    if abs(np.degrees(angle) - 45) > 10:
        raise SystemExit(f"{np.degrees(angle):.1f} degrees are far from 45")


if __name__ == "__main__":
    main()
