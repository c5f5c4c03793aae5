"""What the constructor of Proxy takes, and what it says to mistakes."""

import inspect

import pytest

from muster.communication import (
    DriverType,
    DriverTypeError,
    InformationUncompletedError,
    PeersMissError,
    Proxy,
    RedisConnectionError,
)
from muster.communication._options import (
    discovery_address,
    driver_options,
    expected_counts,
    minimal_counts,
    retry_seconds,
)

DEFAULTS = {
    "component_name": None,
    "driver_type": None,
    "driver_parameters": None,
    "redis_address": None,
    "initial_redis_connect_retry_interval": 0.1,
    "max_redis_connect_retries": 10,
    "initial_peer_discovery_retry_interval": 0.1,
    "max_peer_discovery_retries": 10,
    "enable_rejoin": False,
    "minimal_peers": 1,
    "peers_catch_lifetime": 10,
    "enable_message_cache_for_rejoin": False,
    "max_length_for_message_cache": 1024,
    "timeout_for_minimal_peer_number": 300,
    "is_remove_failed_container": False,
    "max_rejoin_times": 5,
}


def test_the_constructor_has_the_arguments_that_users_know_in_their_order():
    parameters = inspect.signature(Proxy).parameters
    names = ["group_name", "component_type", "expected_peers", *DEFAULTS]
    assert list(parameters)[: len(names)] == names
    assert {name: parameters[name].default for name in DEFAULTS} == DEFAULTS


def test_an_unknown_keyword_is_named_with_the_one_that_is_meant():
    with pytest.raises(TypeError, match="'enable_rejion'; did you mean 'enable_rejoin'"):
        Proxy("group", "master", {"worker": 1}, enable_rejion=True)
    with pytest.raises(TypeError, match="'colour'$"):
        Proxy("group", "master", {"worker": 1}, colour="red")


@pytest.mark.parametrize("peers", [{}, [], {"worker": 0}])
def test_a_proxy_without_expected_peers_is_refused(peers):
    with pytest.raises(PeersMissError, match="at least one type"):
        Proxy("group", "master", peers)


@pytest.mark.parametrize("peers", ["worker", 3, None, ["worker"], {"worker": "two"}, {1: 1}])
def test_expected_peers_that_are_no_counts_are_refused(peers):
    with pytest.raises(TypeError, match="expected_peers"):
        Proxy("group", "master", peers)


def test_expected_peers_may_be_pairs():
    assert expected_counts([("worker", 2), ("learner", 1)]) == {"worker": 2, "learner": 1}


@pytest.mark.parametrize(
    ("arguments", "error"), [(("", "master"), ValueError), ((1, "master"), TypeError)]
)
def test_names_must_be_text(arguments, error):
    with pytest.raises(error, match="group_name"):
        Proxy(*arguments, {"worker": 1})


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("lease", "long", TypeError),
        ("linger", -1, ValueError),
        ("linger", float("nan"), ValueError),
        ("inbox_messages", 1.5, TypeError),
        ("secret", 5, TypeError),
        ("max_length_for_message_cache", "many", TypeError),
        ("max_length_for_message_cache", -1, ValueError),
        ("max_rejoin_times", None, TypeError),
        ("timeout_for_minimal_peer_number", "long", TypeError),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(name, value, error):
    with pytest.raises(error, match=name):
        Proxy("group", "master", {"worker": 1}, **{name: value})


def test_an_unknown_driver_is_named():
    with pytest.raises(DriverTypeError, match="'carrier pigeon'; there are DriverType.AUTO"):
        Proxy("group", "master", {"worker": 1}, driver_type="carrier pigeon")


@pytest.mark.parametrize("given", [DriverType.ZMQ, "zmq_driver", "zmq"])
def test_drivers_are_known_by_several_names(given):
    assert DriverType.of(given) is DriverType.ZMQ


def test_minimal_peers_must_name_every_expected_type():
    assert minimal_counts(0, ["a", "b"]) == {"a": 1, "b": 1}
    assert minimal_counts({"a": 3, "b": 0}, ["a", "b"]) == {"a": 3, "b": 1}
    with pytest.raises(ValueError, match="b is missing"):
        minimal_counts({"a": 3}, ["a", "b"])
    with pytest.raises(TypeError, match="'many'"):
        minimal_counts("many", ["a"])


def test_retries_add_up():
    assert retry_seconds(interval=0.1, retries=10) == pytest.approx(102.3)
    assert retry_seconds(interval=0.1, retries=0) == 0
    assert retry_seconds(interval=0.1, retries=10_000) == 1e9
    with pytest.raises(ValueError, match="-1"):
        retry_seconds(interval=0.1, retries=-1)


@pytest.mark.parametrize(
    ("address", "discovery", "expected"),
    [
        (None, None, ""),
        (("localhost", 6379), None, "redis://localhost:6379"),
        (["::1", 6379], None, "redis://[::1]:6379"),
        ("host:1", None, "redis://host:1"),
        ("redis://:secret@host:1/2", None, "redis://:secret@host:1/2"),
        (None, "file:/shared", "file:/shared"),
    ],
)
def test_addresses_of_stores_take_several_forms(address, discovery, expected):
    assert discovery_address(address, discovery) == expected


def test_wrong_addresses_of_stores_are_refused():
    with pytest.raises(TypeError, match="not both"):
        discovery_address(("h", 1), "file:")
    with pytest.raises(TypeError, match="4711"):
        discovery_address(4711, None)


def test_driver_parameters_become_options_of_the_driver():
    assert driver_options(DriverType.AUTO, {"protocol": "ipc"}) == {"zmq.protocol": "ipc"}
    assert driver_options(DriverType.SHM, {"shm.x": True}) == {"shm.x": "true"}


def test_peers_that_do_not_come_are_named():
    with pytest.raises(InformationUncompletedError, match="0 of 2 'worker'") as caught:
        Proxy(
            "group",
            "master",
            {"worker": 2},
            initial_peer_discovery_retry_interval=0.01,
            max_peer_discovery_retries=2,
        )
    assert isinstance(caught.value, TimeoutError)


def test_the_older_names_of_the_retry_arguments_work():
    with pytest.raises(InformationUncompletedError):
        Proxy(
            "group",
            "master",
            {"worker": 1},
            max_retries=1,
            retry_interval_base_value=0.01,
            log_enable=False,
        )


def test_a_redis_server_that_does_not_answer_is_named(caplog):
    with pytest.raises(RedisConnectionError, match="127.0.0.1") as caught:
        Proxy(
            "g",
            "master",
            {"worker": 1},
            redis_address=("127.0.0.1", 1),
            max_redis_connect_retries=1,
        )
    assert isinstance(caught.value, ConnectionError)
    # Those who wait for it know why: it is tried again for a hundred seconds by default.
    assert "joining group 'g'" in caplog.text
    assert "trying again" in caplog.text


def test_a_name_comes_from_the_environment(join, monkeypatch):
    monkeypatch.setenv("COMPONENT_NAME", "from_environment")
    master, worker = join(
        {"component_type": "master", "expected_peers": {"worker": 1}, "component_name": "given"},
        {"component_type": "worker", "expected_peers": {"master": 1}},
    )
    assert (master.name, worker.name) == ("given", "from_environment")


def test_a_made_up_name_begins_with_the_type(join):
    master, worker = join(
        {"component_type": "master", "expected_peers": [("worker", 1)]},
        {"component_type": "worker", "expected_peers": [("master", 1)]},
    )
    assert master.name.startswith("master_")
    assert worker.peers == {"master": [master.name]}
