"""How the learner and the actors join their group."""

from __future__ import annotations

from typing import Any

from muster.communication import Proxy

# Seconds. A lease is for peers on other hosts; a process that dies on this one is noticed at once.
# So it is long: a laptop that is busy with something else should not look dead.
LEASE = 30.0


def join(group: str, component_type: str, peers: dict[str, int], name: str, **more: Any) -> Proxy:
    return Proxy(group, component_type, peers, component_name=name, lease=LEASE, **more)
