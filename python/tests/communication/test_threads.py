"""Several threads with one proxy."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import components
import numpy as np
import pytest
from components import PATIENCE, in_thread

from muster.communication import Message, Proxy, ProxyClosedError, SessionMessage, SessionType


def test_each_thread_gets_the_reply_to_its_own_request(start, group):
    start(components.echo, group, "w")
    with Proxy(group, "master", {"worker": 1}) as master:
        strays = []
        in_thread(lambda: strays.extend(master.receive()))

        def ask(number):
            for turn in range(50):
                message = SessionMessage("work", master.name, "w", (number, turn))
                [reply] = master.send(message, PATIENCE)
                assert reply.body == (number, turn)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, range(4)))
        assert strays == []
        master.isend(Message("stop", master.name, "w"))


def test_threads_share_the_messages_that_arrive(pair):
    master, worker = pair
    taken = []

    def take():
        for message in worker.receive():
            if message.tag == "stop":
                return
            taken.append(message.body)

    with ThreadPoolExecutor(3) as pool:
        takers = [pool.submit(take) for _ in range(3)]
        for number in range(300):
            master.isend(SessionMessage("n", "master", "worker", number, SessionType.NOTIFICATION))
        for _ in takers:
            master.isend(SessionMessage("stop", "master", "worker", 0, SessionType.NOTIFICATION))
        for taker in takers:
            taker.result(30)
    assert sorted(taken) == list(range(300))


@pytest.mark.parametrize("wait", ["receive_once", "receive_by_id", "send"])
def test_other_threads_run_while_one_waits(pair, wait):
    master, _ = pair
    request = SessionMessage("tag", "master", "worker")
    ids = master.isend(SessionMessage("tag", "master", "worker"))
    arguments = {"receive_once": (), "receive_by_id": (ids,), "send": (request,)}[wait]

    def waiting():
        with pytest.raises(ProxyClosedError):
            getattr(master, wait)(*arguments)

    thread = in_thread(waiting)
    turns = 0
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        turns += 1
    assert turns > 100
    assert thread.is_alive()
    master.close()
    thread.join(30)
    assert not thread.is_alive()


def test_arrays_are_let_go_by_whatever_thread_is_last(start, group):
    start(components.echo, group, "w")
    with Proxy(group, "master", {"worker": 1}) as master:

        def work(number):
            for _ in range(10):
                array = np.full(50_000, float(number))
                array.flags.writeable = False
                body = {"array": array, "more": b"x" * 100_000}
                [reply] = master.send(SessionMessage("work", master.name, "w", body), PATIENCE)
                assert reply.body["array"].sum() == array.sum()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        master.isend(Message("stop", master.name, "w"))


def test_proxies_come_and_go_in_threads(group):
    def one(number):
        name = f"{group}-{number}"
        barrier = threading.Barrier(2)

        def worker():
            with Proxy(name, "worker", {"master": 1}) as proxy:
                proxy.reply(proxy.receive_once(PATIENCE), body="done")
                barrier.wait(30)

        thread = in_thread(worker)
        with Proxy(name, "master", {"worker": 1}) as proxy:
            [reply] = proxy.send(Message("tag", proxy.name, proxy.peers["worker"][0]), PATIENCE)
            barrier.wait(30)
        thread.join(30)
        return reply.body

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(8))) == ["done"] * 8
