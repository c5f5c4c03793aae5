"""The learner: asks all actors, goes on with those that answer first, and cuts off the others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from search import Search

from muster.communication import Proxy, RegisterTable, SessionMessage, SessionType

# region event
ENOUGH = "actor:rollout:60%"  # of the actors that are there at that moment: 3 of 4, 2 of 3
# endregion
PATIENCE = 10_000  # milliseconds without any rollout, ...
ATTEMPTS = 3  # ... so often


@dataclass
class Round:
    """What one round brought."""

    number: int
    value: float  # the return of the mean policy
    returns: np.ndarray  # of the candidates
    actors: int  # that are there
    used: int  # rollouts
    late: int  # rollouts of earlier rounds, cut off
    messages: float  # per second


class Learner:
    """Trains with the actors of a group."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.search = Search()
        # region table
        self.table = RegisterTable(lambda: proxy.peers, version=lambda: proxy.peers_version)
        self.table.register_event_handler(ENOUGH, self.train)
        # endregion
        self.latest = np.array([])

    def train(self, rollouts: list[SessionMessage]) -> int:
        """The handler of the event: gets the rollouts that it asked for."""
        weights, returns = (np.concatenate(parts) for parts in zip(*(r.body for r in rollouts)))
        self.search.update(weights, returns)
        self.latest = returns
        return len(rollouts)

    # region round
    def play(self) -> tuple[int, int]:
        """One round; returns how many rollouts were used and how many came too late."""
        late = 0
        for _ in range(ATTEMPTS):  # again when too few are left of those who were asked
            self.table.clear()
            question = (self.search.mean, self.search.spread)
            session = self.proxy.ibroadcast("actor", "explore", SessionType.TASK, question)[0]
            while rollout := self.proxy.receive_once(timeout=PATIENCE):
                if rollout.session_id != session:
                    late += 1  # the straggler cut-off: it answers an earlier round
                elif used := self.table.push(rollout):
                    return used[0], late
        raise TimeoutError(f"no rollout came for {ATTEMPTS * PATIENCE / 1000:.0f} seconds")

    # endregion

    def rounds(self, count: int) -> Iterator[Round]:
        """Trains for so many rounds."""
        began, before = time.monotonic(), self._messages()
        for number in range(1, count + 1):
            used, late = self.play()
            value = self.search.evaluate()
            now, after = time.monotonic(), self._messages()
            actors = len(self.proxy.get_peers("actor"))
            rate = (after - before) / (now - began)
            yield Round(number, value, self.latest, actors, used, late, rate)
            began, before = now, after

    def _messages(self) -> int:
        counters = self.proxy.counters
        return counters["sent"] + counters["received"]
