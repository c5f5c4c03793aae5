"""An actor: tries out policies for the learner.

Started by crew.py as `actor.py GROUP NAME SEED`, or as a component of a job, whose variables say
the same.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import numpy as np
import search
from group import join

from muster.communication import PeersConnectionError, Proxy, SessionMessage

CANDIDATES = 24  # per round


def requests(proxy: Proxy) -> Iterator[SessionMessage]:
    """Yields what the learner asks for, until it says stop or is gone.

    An actor that fell behind takes the newest request: nobody waits for the older ones any more.
    """
    while proxy.get_peers("learner"):
        newest = proxy.receive_once(timeout=200)
        while newest and newest.tag != "stop" and (newer := proxy.receive_once(timeout=0)):
            newest = newer
        if newest and newest.tag == "stop":
            return
        if newest:
            yield newest


def identity() -> tuple[str, str, int]:
    """The group, the name in it, and the seed."""
    if len(sys.argv) > 1:
        group, name, seed = sys.argv[1:]
        return group, name, int(seed)
    names = ("JOB_ID", "COMPONENT_NAME", "COMPONENT_INDEX")
    group, name, index = (os.environ[each] for each in names)
    return group, name, 1000 + int(index)


def main() -> None:
    group, name, seed = identity()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the learner decides when to stop
    random = np.random.default_rng(seed)
    with join(group, "actor", {"learner": 1}, name) as proxy:
        for request in requests(proxy):
            mean, spread = request.body
            rollout = search.candidates(mean, spread, CANDIDATES, random)
            try:
                proxy.reply(request, tag="rollout", body=rollout)
            except PeersConnectionError:
                return  # the learner has finished without it


if __name__ == "__main__":
    main()
