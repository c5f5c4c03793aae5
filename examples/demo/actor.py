"""An actor: tries out policies for the learner.

Started by crew.py as `actor.py GROUP NAME SEED`.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import numpy as np
import search
from muster.communication import Proxy, SessionMessage

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


def main() -> None:
    group, name, seed = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the learner decides when to stop
    random = np.random.default_rng(int(seed))
    with Proxy(group, "actor", {"learner": 1}, component_name=name) as proxy:
        for request in requests(proxy):
            mean, spread = request.body
            weights, returns = search.candidates(mean, spread, CANDIDATES, random)
            proxy.reply(request, tag="rollout", body=(weights, returns))


if __name__ == "__main__":
    main()
