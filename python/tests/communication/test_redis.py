"""Peers that find each other through a real Redis server."""

import components
from components import PATIENCE

from muster.communication import Message, Proxy


def test_peers_find_each_other_through_redis(start, group, redis_server):
    start(components.echo, group, "w", redis_address=redis_server.address)
    with Proxy(group, "master", {"worker": 1}, redis_address=redis_server.address) as master:
        [reply] = master.send(Message("work", master.name, "w", 1), PATIENCE)
        assert reply.body == 1
        master.isend(Message("stop", master.name, "w"))


def test_a_redis_url_works_too(start, group, redis_server):
    url = f"redis://127.0.0.1:{redis_server.port}"
    start(components.echo, group, "w", redis_address=url)
    with Proxy(group, "master", {"worker": 1}, discovery=url) as master:
        assert master.send(Message("work", master.name, "w", 1), PATIENCE)[0].body == 1
        master.isend(Message("stop", master.name, "w"))


def test_a_group_goes_on_while_redis_is_restarted(start, group, redis_server):
    start(components.echo, group, "w", redis_address=redis_server.address)
    with Proxy(group, "master", {"worker": 1}, redis_address=redis_server.address) as master:
        redis_server.stop()
        assert master.send(Message("work", master.name, "w", 1), PATIENCE)[0].body == 1
        redis_server.start()
        assert master.send(Message("work", master.name, "w", 2), PATIENCE)[0].body == 2
        master.isend(Message("stop", master.name, "w"))
