"""Peers that go away and come back under their name."""

import os
import signal
import time

import components
import pytest
from components import PATIENCE

from muster.communication import (
    Message,
    PeersRejoinTimeout,
    PendingToSend,
    Proxy,
    QueueFullError,
    SessionMessage,
    SessionType,
)


@pytest.fixture
def workers(start, group):
    """Starts and kills workers by name."""
    running = {}

    class Workers:
        def start(self, name):
            running[name] = start(components.echo, group, name)

        def kill(self, name, seen_by):
            child = running.pop(name)
            os.kill(child.pid, signal.SIGKILL)
            child.join(30)
            wait_until(lambda: name not in seen_by.peers["worker"])

    return Workers()


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def master_of(group, count, **options):
    return Proxy(
        group, "master", {"worker": count}, component_name="m", enable_rejoin=True, **options
    )


def work(destination, body=None):
    return SessionMessage("work", "m", destination, body)


def test_a_peer_that_comes_back_gets_its_kept_messages_first(workers, group):
    for number in range(3):
        workers.start(f"w{number}")
    with master_of(group, 3, enable_message_cache_for_rejoin=True) as master:
        workers.kill("w1", master)
        assert master.isend(work("w1", "kept")) is None
        workers.start("w1")
        wait_until(lambda: len(master.peers["worker"]) == 3)
        pairs = [(f"w{number}", number) for number in range(3)]
        replies = master.scatter("work", SessionType.TASK, pairs)
        assert len(replies) == 4
        assert [r.body for r in replies if r.source == "w1"] == ["kept", 1]


def test_scatter_goes_on_without_a_peer_that_is_away(workers, group, caplog):
    workers.start("w0")
    workers.start("w1")
    with master_of(group, 2, enable_message_cache_for_rejoin=True) as master:
        workers.kill("w1", master)
        replies = master.scatter("work", SessionType.TASK, [("w0", 0), ("w1", 1)])
        assert [reply.source for reply in replies] == ["w0"]
        assert "w1" in caplog.text
        assert master.send(work("w1")) == []


def test_without_a_cache_a_peer_that_is_away_is_an_error(workers, group):
    workers.start("w0")
    workers.start("w1")
    with master_of(group, 2) as master:
        workers.kill("w1", master)
        with pytest.raises(PendingToSend, match="w1"):
            master.isend(work("w1"))
        assert [r.body for r in master.send(work("w0", "there"), PATIENCE)] == ["there"]


def test_a_full_cache_is_an_error(workers, group):
    workers.start("w0")
    workers.start("w1")
    options = {"enable_message_cache_for_rejoin": True, "max_length_for_message_cache": 2}
    with master_of(group, 2, **options) as master:
        workers.kill("w1", master)
        assert master.isend(work("w1")) is None
        assert master.isend(work("w1")) is None
        with pytest.raises(QueueFullError, match="2"):
            master.isend(work("w1"))


def test_replies_that_will_not_come_are_left_out_with_a_warning(start, group, caplog):
    start(components.report_pid, group, "dying")
    start(components.echo, group, "living")
    with master_of(group, 2) as master:
        [reply] = master.send(Message("pid", "m", "dying"), PATIENCE)
        ids = master.iscatter("work", SessionType.TASK, [("dying", 1), ("living", 2)])
        os.kill(reply.body, signal.SIGKILL)
        replies = master.receive_by_id(ids)
        assert [message.source for message in replies] == ["living"]
        assert "dying" in caplog.text


def test_too_few_peers_are_waited_for_and_then_an_error(workers, group):
    workers.start("w0")
    workers.start("w1")
    options = {"minimal_peers": {"worker": 2}, "timeout_for_minimal_peer_number": 0.3}
    with master_of(group, 2, **options) as master:
        workers.kill("w1", master)
        with pytest.raises(PeersRejoinTimeout, match="1 of at least 2"):
            master.isend(work("w0"))
        workers.start("w1")
        wait_until(lambda: len(master.peers["worker"]) == 2)
        assert [r.body for r in master.send(work("w0", 5), PATIENCE)] == [5]
