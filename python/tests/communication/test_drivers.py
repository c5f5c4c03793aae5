"""Drivers without a proxy."""

import pytest
from components import PATIENCE

from muster.communication import (
    AbsDriver,
    DriverType,
    Message,
    PeersDisconnectionError,
    PeersMissError,
    PendingToSend,
    SocketTypeError,
    ZmqDriver,
)


@pytest.fixture
def make():
    drivers = []

    def one(component_type, **options):
        drivers.append(ZmqDriver(component_type, **options))
        return drivers[-1]

    yield one
    for driver in drivers:
        driver.close()


@pytest.fixture(params=["tcp", "ipc"])
def protocol(request):
    return request.param


def test_a_message_reaches_the_peer_that_it_names(make, protocol):
    sender = make("sender", protocol=protocol)
    receivers = {f"peer{number}": make("receiver", protocol=protocol) for number in range(3)}
    sender.connect({name: receiver.address for name, receiver in receivers.items()})
    for name in receivers:
        sender.send(Message("unittest", "sender", name, f"hello {name}"))
    for name, receiver in receivers.items():
        message = receiver.receive_once(PATIENCE)
        assert (message.tag, message.body) == ("unittest", f"hello {name}")


def test_a_broadcast_reaches_the_peers_of_its_topic_only(make):
    sender, worker, other = make("sender"), make("worker"), make("worker_b")
    sender.connect({"w": worker.address, "o": other.address})
    sender.broadcast("worker", Message("news", "sender", "worker", 1))
    sender.send(Message("direct", "sender", "o", 2))
    assert worker.receive_once(PATIENCE).tag == "news"
    assert other.receive_once(PATIENCE).tag == "direct"


def test_receive_yields_until_nothing_comes(make):
    sender, receiver = make("sender"), make("receiver")
    sender.connect({"r": receiver.address})
    for number in range(3):
        sender.send(Message("n", "sender", "r", number))
    received = receiver.receive(PATIENCE)
    assert [next(received).body for _ in range(3)] == [0, 1, 2]
    assert list(receiver.receive(0)) == []
    assert make("lonely", receive_timeout=1).receive_once() is None


def test_a_disconnected_peer_is_pending(make):
    sender, receiver = make("sender"), make("receiver")
    sender.connect({"r": receiver.address})
    sender.disconnect({"r": receiver.address})
    with pytest.raises(PendingToSend, match="'r'"):
        sender.send(Message("n", "sender", "r"))
    with pytest.raises(PeersDisconnectionError, match="'x'"):
        sender.disconnect({"x": ""})
    with pytest.raises(PeersMissError, match="'x'"):
        sender.send(Message("n", "sender", "x"))


def test_a_wrong_address_is_refused(make):
    with pytest.raises(SocketTypeError, match="'r'"):
        make("sender").connect({"r": "tcp://127.0.0.1:1"})


def test_a_driver_of_ones_own_can_be_written():
    class Loop(AbsDriver):
        address = "here"

        def __init__(self):
            self.queue = []

        def connect(self, peers_address): ...

        def send(self, message):
            self.queue.append(message)

        def broadcast(self, topic, message):
            self.queue.append(message)

        def receive(self, timeout=None):
            while self.queue:
                yield self.queue.pop(0)

        def close(self): ...

    driver = Loop()
    driver.send("x")
    assert driver.receive_once() == "x"
    assert driver.receive_once() is None
    with pytest.raises(NotImplementedError):
        driver.disconnect({})
    with pytest.raises(TypeError):
        AbsDriver()


def test_driver_types_have_the_values_that_users_know():
    assert DriverType.ZMQ.value == "zmq_driver"
    assert {member.native_name for member in DriverType} == {"auto", "zmq", "shm", "inproc", "ucx"}
