"""Arrays and large bodies: what is copied, and who may change it."""

import gc
import weakref

import numpy as np
import pytest
from components import PATIENCE

from muster.communication import SessionMessage, SessionType

LARGE = 100_000  # numbers: far above what is copied as a matter of course


@pytest.fixture
def deliver(pair):
    master, worker = pair

    def one(body):
        kind = SessionType.NOTIFICATION
        master.isend(SessionMessage("tag", "master", "worker", body, kind))
        return worker.receive_once(PATIENCE)

    return one


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize(
    "dtype",
    [
        "f8",
        "f4",
        "f2",
        "i8",
        "u1",
        "?",
        "c16",
        ">i4",
        "M8[ns]",
        "m8[s]",
        "S5",
        "U7",
        "V3",
        "O",
        "i4,f8",
    ],
)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 0, 3)])
def test_arrays_of_any_type_and_shape_arrive_as_they_are(deliver, dtype, shape):
    sent = np.zeros(shape, dtype)
    received = deliver(sent).body
    assert (received.dtype, received.shape) == (sent.dtype, sent.shape)
    assert np.array_equal(received, sent)


@pytest.mark.parametrize("size", [10, LARGE])
@pytest.mark.parametrize(
    "change", [lambda a: a, np.asfortranarray, lambda a: a[:, ::2], lambda a: a.T]
)
def test_arrays_in_any_layout_arrive_as_they_are(deliver, change, size):
    sent = change(np.arange(2.0 * size).reshape(2, size))
    np.testing.assert_array_equal(deliver(sent).body, sent)


def test_subclasses_of_arrays_stay_what_they_are(deliver):
    sent = np.ma.masked_array([1, 2], [True, False])
    received = deliver(sent).body
    assert type(received) is type(sent)
    assert received.mask.tolist() == [True, False]


@pytest.mark.parametrize("size", [10, LARGE])
@pytest.mark.parametrize("wrap", [lambda a: a, lambda a: {"weights": [a]}], ids=["array", "inside"])
def test_a_received_array_is_the_programs_own(deliver, size, wrap):
    sent = np.ones(size)
    received = deliver(wrap(sent)).body
    array = received if isinstance(received, np.ndarray) else received["weights"][0]
    array += 1
    assert array.sum() == 2 * size
    assert sent.sum() == size


@pytest.mark.parametrize("size", [10, LARGE])
@pytest.mark.parametrize("wrap", [lambda a: a, lambda a: [a]], ids=["array", "inside"])
def test_what_was_sent_does_not_change_with_the_array(pair, size, wrap):
    master, worker = pair
    array = np.ones(size)
    master.isend(SessionMessage("tag", "master", "worker", wrap(array)))
    array += 1
    received = worker.receive_once(PATIENCE).body
    assert np.sum(received) == size


@pytest.mark.parametrize("wrap", [lambda a: a, lambda a: [a]], ids=["array", "inside"])
def test_a_read_only_array_is_shared_within_a_process(deliver, wrap):
    sent = np.arange(float(LARGE))
    sent.flags.writeable = False
    message = deliver(wrap(sent))
    view = message.view if isinstance(message.view, np.ndarray) else message.view[0]
    assert address(view) == address(sent)
    assert not view.flags.writeable
    own = message.body if isinstance(message.body, np.ndarray) else message.body[0]
    assert address(own) != address(sent)


def test_an_array_of_the_proxy_is_handed_over(pair):
    master, worker = pair
    array = master.empty((LARGE, 2), "f4")
    array[:] = 3
    assert (array.shape, array.dtype) == ((LARGE, 2), np.float32)
    master.isend(SessionMessage("tag", "master", "worker", array))
    assert not array.flags.writeable
    message = worker.receive_once(PATIENCE)
    assert address(message.view) == address(array)
    assert message.view.sum() == 3 * 2 * LARGE
    with pytest.raises(TypeError, match="object"):
        master.empty(3, object)


def test_an_array_lives_as_long_as_its_message_or_any_view(deliver):
    sent = np.arange(float(LARGE))
    sent.flags.writeable = False
    watch = weakref.ref(sent)
    message = deliver(sent)
    view = message.view[10:20]
    del sent, message
    gc.collect()
    assert watch() is not None
    assert view.tolist() == list(range(10, 20))
    del view
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize("size", [0, 10, 1_000_000])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_arrive_as_they_are(deliver, kind, size):
    sent = kind(bytes(range(256)) * (size // 256) + b"end")
    received = deliver(sent).body
    assert received == sent
    assert type(received) is (bytes if kind is memoryview else kind)


def test_a_read_only_array_can_be_sent_on(join):
    def component(kind, *peers):
        return {
            "component_type": kind,
            "component_name": kind,
            "expected_peers": dict.fromkeys(peers, 1),
        }

    a, b, c = join(component("a", "b", "c"), component("b", "a", "c"), component("c", "a", "b"))
    sent = np.arange(float(LARGE))
    sent.flags.writeable = False
    a.isend(SessionMessage("tag", "a", "b", sent))
    view = b.receive_once(PATIENCE).view
    b.isend(SessionMessage("tag", "b", "c", view))
    assert address(c.receive_once(PATIENCE).view) == address(sent)


def test_a_changed_body_is_what_is_forwarded(join):
    def component(kind, *peers):
        return {
            "component_type": kind,
            "component_name": kind,
            "expected_peers": dict.fromkeys(peers, 1),
        }

    a, b, c = join(component("a", "b", "c"), component("b", "a", "c"), component("c", "a", "b"))
    a.isend(SessionMessage("tag", "a", "b", {"hops": 1}))
    message = b.receive_once(PATIENCE)
    message.body["hops"] += 1
    b.forward(message, "c")
    assert c.receive_once(PATIENCE).body == {"hops": 2}


def test_many_large_buffers_arrive_in_one_body(deliver):
    sent = {number: np.full(LARGE, float(number)) for number in range(20)}
    received = deliver(sent).body
    assert all((received[number] == number).all() for number in sent)
