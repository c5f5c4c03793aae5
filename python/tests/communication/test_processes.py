"""Proxies in processes of their own: spawned, forked, killed."""

import os
import signal
import subprocess
import sys
import textwrap

import components
import numpy as np
import pytest
from components import PATIENCE, Tag, needs_ucx

from muster.communication import (
    ForkedError,
    Message,
    PeersConnectionError,
    Proxy,
    SessionMessage,
    SessionType,
)


@pytest.fixture(params=["spawn", "fork"])
def method(request):
    return request.param


@pytest.mark.parametrize("driver", [None, "shm", "zmq", pytest.param("ucx", marks=needs_ucx)])
def test_a_request_is_answered_by_another_process(start, group, driver):
    start(components.echo, group, driver_type=driver)
    with Proxy(group, "master", {"worker": 1}, driver_type=driver) as master:
        [worker] = master.peers["worker"]
        for body in (1, "text", np.arange(1_000_000), {"a": np.zeros(50_000)}):
            [reply] = master.send(SessionMessage("work", master.name, worker, body), PATIENCE)
            assert repr(reply.body) == repr(body)
        master.isend(Message("stop", master.name, worker))


def test_children_make_proxies_of_their_own(start, group, method):
    children = [start(components.echo, group, f"w{i}", method=method) for i in range(3)]
    with Proxy(group, "master", {"worker": 3}) as master:
        replies = master.scatter("work", SessionType.TASK, [(f"w{i}", i) for i in range(3)])
        assert {reply.source: reply.body for reply in replies} == {f"w{i}": i for i in range(3)}
        master.ibroadcast("worker", "stop", SessionType.NOTIFICATION)
        for child in children:
            child.join(30)
            assert child.exitcode == 0


def test_a_received_array_can_be_changed_and_the_view_cannot(start, group):
    start(components.echo, group, "w", driver_type="shm")
    with Proxy(group, "master", {"worker": 1}, driver_type="shm") as master:
        array = np.ones(1_000_000)
        [reply] = master.send(SessionMessage("work", master.name, "w", array), PATIENCE)
        view = reply.view
        assert not view.flags.writeable
        assert "muster" in mapping_of(view) or "memfd" in mapping_of(view)
        reply.body[:] = 2
        assert reply.body.sum() == 2_000_000
        assert view.sum() == 1_000_000
        master.isend(Message("stop", master.name, "w"))


def mapping_of(array):
    """The line of /proc/self/maps in which the array lies."""
    address = array.__array_interface__["data"][0]
    with open("/proc/self/maps") as maps:
        for line in maps:
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            if first <= address < last:
                return line
    return ""


def test_enum_tags_arrive_in_other_processes(start, group):
    start(components.enum_echo, group)
    with Proxy(group, "master", {"worker": 1}) as master:
        [worker] = master.peers["worker"]
        [reply] = master.send(SessionMessage(Tag.WORK, master.name, worker), PATIENCE)
        assert reply.tag is Tag.NUMBER
        master.isend(Message(Tag.STOP, master.name, worker))


def test_a_killed_peer_ends_the_wait_for_its_reply(start, group):
    start(components.report_pid, group, "dying")
    start(components.echo, group, "living")
    with Proxy(group, "master", {"worker": 2}) as master:
        [reply] = master.send(Message("pid", master.name, "dying"), PATIENCE)
        ids = master.iscatter("work", SessionType.TASK, [("dying", 1), ("living", 2)])
        os.kill(reply.body, signal.SIGKILL)
        with pytest.raises(PeersConnectionError, match="dying") as caught:
            master.receive_by_id(ids)
        assert [message.source for message in caught.value.replies] == ["living"]
        assert master.peers == {"worker": ["living"]}
        with pytest.raises(PeersConnectionError, match="dying"):
            master.isend(Message("work", master.name, "dying"))
        master.isend(Message("stop", master.name, "living"))


def test_close_returns_with_a_dead_peer(start, group):
    start(components.report_pid, group, "w")
    master = Proxy(group, "master", {"worker": 1}, linger=0.2)
    [reply] = master.send(Message("pid", master.name, "w"), PATIENCE)
    os.kill(reply.body, signal.SIGSTOP)
    try:
        for _ in range(100):
            master.isend(Message("work", master.name, "w", b"x" * 1000))
        master.close()
    finally:
        os.kill(reply.body, signal.SIGKILL)


def test_a_proxy_inherited_through_fork_raises_and_does_no_harm(start, group):
    start(components.echo, group, "w")
    with Proxy(group, "master", {"worker": 1}) as master:
        pid = os.fork()
        if pid == 0:
            os._exit(use_inherited(master))
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        [reply] = master.send(Message("work", master.name, "w", "still works"), PATIENCE)
        assert reply.body == "still works"
        master.isend(Message("stop", master.name, "w"))


def use_inherited(proxy):
    """In the child: 0 when every use raises and closing does nothing."""
    uses = [
        lambda: proxy.isend(Message("work", "me", "w")),
        lambda: proxy.receive_once(0),
        lambda: proxy.ibroadcast("worker", "tag", SessionType.TASK),
        lambda: list(proxy.receive(timeout=0)),
    ]
    for number, use in enumerate(uses, start=1):
        try:
            use()
        except ForkedError:
            continue
        return number
    proxy.close()
    return 0


def test_a_forked_child_makes_other_ids(group):
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write_end, Message("tag", "me", "you").session_id.encode())
        os._exit(0)
    mine = Message("tag", "me", "you").session_id
    os.waitpid(pid, 0)
    assert os.read(read_end, 100).decode().split("-")[0] != mine.split("-")[0]


def run_program(text, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *arguments],
        timeout=50,
        capture_output=True,
        text=True,
        **options,
    )


def test_a_program_that_never_closes_its_proxy_ends_by_itself(start, group):
    start(components.echo, group, "w")
    program = """
        import sys
        from muster.communication import Message, Proxy
        proxy = Proxy(sys.argv[1], "master", {"worker": 1})
        proxy.isend(Message("stop", proxy.name, "w"))
        print("end")
    """
    done = run_program(program, group)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)


def test_the_package_leaves_signal_handlers_alone(group):
    program = """
        import signal, sys, threading
        before = [signal.getsignal(number) for number in range(1, 32)]
        from muster.communication import Message, Proxy
        def worker():
            with Proxy(sys.argv[1], "worker", {"master": 1}) as proxy:
                proxy.isend(Message("here", proxy.name, "master"))
        thread = threading.Thread(target=worker)
        thread.start()
        with Proxy(sys.argv[1], "master", {"worker": 1}, component_name="master") as proxy:
            assert proxy.receive_once(20_000).tag == "here"
        thread.join()
        assert before == [signal.getsignal(number) for number in range(1, 32)]
    """
    done = run_program(program, group)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    "wait", ["receive_once()", "receive_by_id(proxy.isend(request))", "send(request)"]
)
def test_a_keyboard_interrupt_ends_a_wait(group, wait):
    program = f"""
        import os, signal, sys, threading
        from muster.communication import Message, Proxy
        kept = threading.Event()
        def worker():
            proxy = Proxy(sys.argv[1], "worker", {{"master": 1}}, component_name="w")
            kept.wait(40)
        threading.Thread(target=worker, daemon=True).start()
        proxy = Proxy(sys.argv[1], "master", {{"worker": 1}})
        request = Message("tag", proxy.name, "w")
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            proxy.{wait}
        except KeyboardInterrupt:
            print("interrupted")
        kept.set()
    """
    done = run_program(program, group)
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


def test_a_keyboard_interrupt_ends_joining(group):
    program = """
        import os, signal, sys, threading
        from muster.communication import Proxy
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            Proxy(sys.argv[1], "master", {"worker": 1})
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = run_program(program, group)
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)
