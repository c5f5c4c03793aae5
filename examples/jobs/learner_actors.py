"""A learner finds the best throw with its actors; learner_actors.yml starts all of them.

Each actor tries the angle that the learner proposes, with some noise, and tells how far the ball
flew. A job's components share the group JOB_ID; COMPONENT_TYPE says what this one is.
"""

import os

import numpy as np

from muster.communication import Proxy, SessionMessage, SessionType

GROUP = os.environ["JOB_ID"]
NAME = os.environ["COMPONENT_NAME"]
ACTORS = 4
ROUNDS = 15


def throw(angle: float, random: np.random.Generator) -> tuple[float, float]:
    tried = angle + random.normal(0, 0.1)
    return tried, float(np.sin(2 * tried))  # the distance; best at 45 degrees


def actor() -> None:
    random = np.random.default_rng(int(os.environ["COMPONENT_INDEX"]))
    with Proxy(GROUP, "actor", {"learner": 1}, component_name=NAME) as proxy:
        for request in proxy.receive():
            if request.tag == "stop":
                return
            proxy.reply(request, tag="result", body=throw(request.body, random))


def learner() -> None:
    with Proxy(GROUP, "learner", {"actor": ACTORS}, component_name=NAME) as proxy:
        angle = 0.2
        for number in range(ROUNDS):
            requests = [(actor, angle) for actor in proxy.peers["actor"]]
            replies = proxy.scatter("throw", SessionType.TASK, requests)
            best, distance = max((reply.body for reply in replies), key=lambda body: body[1])
            angle += 0.5 * (best - angle)
            print(f"round {number}: {np.degrees(angle):.1f} degrees, {distance:.3f}", flush=True)
        for actor in proxy.peers["actor"]:
            proxy.isend(SessionMessage("stop", proxy.name, actor))
    if abs(np.degrees(angle) - 45) > 10:
        raise SystemExit(f"{np.degrees(angle):.1f} degrees are far from 45")


if __name__ == "__main__":
    learner() if os.environ["COMPONENT_TYPE"] == "learner" else actor()
