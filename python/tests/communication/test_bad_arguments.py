"""What calls with wrong arguments say: which argument, what it was, and what would be right."""

import re

import numpy as np
import pytest

from muster.communication import (
    Message,
    MessageSessionTypeError,
    MusterError,
    Proxy,
    RegisterTable,
    SessionType,
    ZmqDriver,
    dist,
)

TASK = SessionType.TASK


def message():
    return Message("tag", "master", "worker")


PROXY_CALLS = {
    "isend: message is a Message, not None": lambda p: p.isend(None),
    "send: message is a Message, not 'x'": lambda p: p.send("x"),
    "send: timeout is a number of milliseconds or None, not '5'": lambda p: p.send(
        message(), timeout="5"
    ),
    "receive_once: timeout is a number of milliseconds or None, not '5'": lambda p: p.receive_once(
        "5"
    ),
    "receive_once: timeout is a number of milliseconds or None, not []": lambda p: list(
        p.receive(timeout=[])
    ),
    "receive_by_id: targets is a session id or a list of them, not 5": lambda p: p.receive_by_id(5),
    "a session id is a str, not 5": lambda p: p.receive_by_id([5]),
    "destination_body_list holds pairs (destination, body), not 'ab'": lambda p: p.scatter(
        "tag", TASK, ["ab"]
    ),
    "destination_body_list holds pairs (destination, body), not 'worker'": lambda p: p.iscatter(
        "tag", TASK, {"worker": 1}
    ),
    "scatter: destination_body_list is a list, not 5": lambda p: p.scatter("tag", TASK, 5),
    "a destination is a str, not 5": lambda p: p.scatter("tag", TASK, [(5, "x")]),
    "scatter: tag is a str or a member of an Enum, not 5": lambda p: p.scatter(5, TASK, []),
    "broadcast: component_type is a str, not 5": lambda p: p.broadcast(5, "tag", TASK),
    "ibroadcast: tag is a str or a member of an Enum, not None": lambda p: p.ibroadcast(
        "worker", None, TASK
    ),
    "reply: message is a Message, not None": lambda p: p.reply(),
    "reply: ack_reply is True or False, not 'yes'": lambda p: p.reply(message(), ack_reply="yes"),
    "forward: destination is a str, not 5": lambda p: p.forward(message(), 5),
    "peer_name is a str, not 5": lambda p: p.get_peer_type(5),
    "shape is a number or a tuple of numbers, not 'x'": lambda p: p.empty("x"),
    "dist: handler_dict is a dict {event: function}, not 5": lambda p: dist(p, 5),
    "dist: the handler of event 'a:b:1' is not callable: 5": lambda p: dist(p, {"a:b:1": 5}),
}


@pytest.mark.parametrize("said", PROXY_CALLS)
def test_a_call_of_a_proxy_names_the_wrong_argument(pair, said):
    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        PROXY_CALLS[said](pair[0])


def test_a_value_that_cannot_be_is_named(pair):
    with pytest.raises(ValueError, match="milliseconds or None, not nan"):
        pair[0].send(message(), timeout=float("nan"))
    with pytest.raises(ValueError, match=r"pairs \(destination, body\), not \('worker', 1, 2\)"):
        pair[0].scatter("tag", TASK, [("worker", 1, 2)])
    with pytest.raises(ValueError, match="shape is -1; no size can be negative"):
        pair[0].empty(-1)
    with pytest.raises(MemoryError, match="shape 1152921504606846976 and float64"):
        pair[0].empty(1 << 60)
    with pytest.raises(MessageSessionTypeError, match="SessionType.TASK"):
        pair[0].broadcast("worker", "tag", 5)


OTHER_CALLS = {
    "source is a str, not 5": lambda: Message("tag", 5, "b"),
    "destination is a str, not None": lambda: Message("tag", "a", None),
    "a tag is a str or a member of an Enum, not None": lambda: Message(None, "a", "b"),
    "destination is a str, not 5": lambda: setattr(message(), "destination", 5),
    "session_id is a str, not 7": lambda: setattr(message(), "session_id", 7),
    "destination is a str, not 8": lambda: message().forward(8),
    "push: message is a Message, not 5": lambda: RegisterTable({"a": ["x"]}).push(5),
    "peers: the names of type 'a' are a list, not 5": lambda: RegisterTable({"a": 5}),
    "dist: proxy is a Proxy, not 5": lambda: dist(5, {}),
    "component_type is a str, not 5": lambda: ZmqDriver(5),
    "send_timeout is a number of milliseconds or None, not 'x'": lambda: ZmqDriver(
        "a", send_timeout="x"
    ),
    "peers_address is a dict {name: address}, not 5": lambda: ZmqDriver("a").connect(5),
    "the address of 'x' is a str, not 5": lambda: ZmqDriver("a").connect({"x": 5}),
    "message is a Message, not 5": lambda: ZmqDriver("a").send(5),
}


@pytest.mark.parametrize("said", OTHER_CALLS)
def test_other_calls_name_the_wrong_argument(said):
    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        OTHER_CALLS[said]()


OPTIONS = {
    "component_name is a str, not 5": {"component_name": 5},
    "lease is a number of seconds, not '3'": {"lease": "3"},
    "insecure is True or False, not 'yes'": {"insecure": "yes"},
    "enable_rejoin is True or False, not 'no'": {"enable_rejoin": "no"},
    "driver_parameters is a dict {name: value}, not 5": {"driver_parameters": 5},
    "a name in driver_parameters is a str, not 5": {"driver_parameters": {5: 1}},
    "driver_parameters['send_timeout'] is a number of milliseconds or None, not 'x'": {
        "driver_parameters": {"send_timeout": "x"}
    },
    "max_peer_discovery_retries is a whole number, not 'x'": {"max_peer_discovery_retries": "x"},
    "initial_redis_connect_retry_interval is a number of seconds, not None": {
        "initial_redis_connect_retry_interval": None
    },
    "minimal_peers['worker'] is a whole number, not 'x'": {"minimal_peers": {"worker": "x"}},
}


@pytest.mark.parametrize("said", OPTIONS)
def test_an_option_of_the_wrong_kind_is_named(said):
    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        Proxy("group", "master", {"worker": 1}, **OPTIONS[said])


def test_numbers_of_numpy_are_numbers(join):
    join(
        {"component_type": "master", "expected_peers": {"worker": 1}},
        {"component_type": "worker", "expected_peers": {"master": 1}},
        lease=np.int64(3),
        inbox_messages=np.int32(10),
        enable_rejoin=np.bool_(True),
    )


def test_a_text_that_cannot_be_sent_is_refused():
    with pytest.raises(ValueError, match="^group_name is not text that can be sent"):
        Proxy("group\ud800", "master", {"worker": 1})


def test_an_error_without_a_class_of_its_own_keeps_its_text():
    error = MusterError("the disk is full")
    assert (str(error), error.error_code) == ("the disk is full", 1000)
