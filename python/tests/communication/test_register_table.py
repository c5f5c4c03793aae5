import time

import pytest
from components import PATIENCE, Tag

from muster.communication import (
    ConditionalEventSyntaxError,
    Message,
    RegisterTable,
    SessionMessage,
    SessionType,
)

PEERS = {"worker": [f"w{number}" for number in range(5)], "learner": ["l"]}


def message(source="w0", tag="update", body=None):
    return Message(tag, source, "me", body)


@pytest.fixture
def table():
    return RegisterTable(PEERS)


def collect(table, event):
    """Registers a handler that notes the bodies of its messages."""
    calls = []
    table.register_event_handler(event, lambda messages: calls.append([m.body for m in messages]))
    return calls


def test_a_handler_gets_the_messages_it_asked_for(table):
    calls = collect(table, "worker:update:2")
    table.push(message("w0", body=1))
    assert calls == []
    table.push(message("w1", body=2))
    assert calls == [[1, 2]]


def test_push_returns_what_the_handlers_return(table):
    table.register_event_handler("worker:update:1", lambda messages: len(messages))
    table.register_event_handler("*:*:2", lambda messages: "two")
    assert table.push(message()) == [1]
    assert table.push(message()) == [1, "two"]
    assert table.push(message(tag="other", source="nobody")) is None


def test_without_auto_trigger_get_returns_what_is_due(table):
    handler = print
    table.register_event_handler("worker:update:1", handler)
    sent = message()
    assert table.push(sent, auto_trigger=False) is None
    assert table.get() == [(handler, [sent])]
    assert table.get() == []


@pytest.mark.parametrize(("percent", "needed"), [(1, 1), (20, 1), (60, 3), (61, 4), (100, 5)])
def test_a_percentage_is_of_the_peers_rounded_up(table, percent, needed):
    calls = collect(table, f"worker:update:{percent}%")
    for number in range(needed - 1):
        table.push(message(f"w{number}"))
    assert calls == []
    table.push(message("w4"))
    assert len(calls) == 1


def test_a_count_is_not_limited_by_the_number_of_peers(table):
    calls = collect(table, "learner:update:3")
    for _ in range(2):
        table.push(message("l"))
    assert calls == []
    table.push(message("l"))
    assert len(calls) == 1


def test_sources_match_types_names_and_anything_exactly(table):
    by_name = collect(table, "w1:update:1")
    by_type = collect(table, "worker:update:1")
    prefix = collect(table, "w:update:1")
    anything = collect(table, "*:*:1")
    table.push(message("w1", body="x"))
    assert by_name == by_type == anything == [["x"]]
    assert prefix == []


def test_enum_tags_are_compared_by_value(table):
    calls = collect(table, "worker:work:1")
    numbers = collect(table, "worker:7:1")
    table.push(message(tag=Tag.WORK))
    table.push(message(tag=Tag.NUMBER))
    assert len(calls) == len(numbers) == 1


@pytest.mark.parametrize("operator", ["AND", "&&"])
def test_and_takes_what_it_needs_and_leaves_the_rest(table, operator):
    calls = collect(table, ("worker:update:2", "learner:go:1", operator))
    for body in range(3):
        table.push(message(body=body))
    assert calls == []
    table.push(message("l", "go", "g"))
    assert calls == [[0, 1, "g"]]
    table.push(message("l", "go", "g"))
    table.push(message(body=3))
    assert calls[1:] == [[2, "g", 3]]


@pytest.mark.parametrize("operator", ["OR", "||"])
def test_or_takes_the_first_branch_that_is_satisfied(table, operator):
    calls = collect(table, ("worker:update:2", "learner:go:1", operator))
    table.push(message(body=0))
    table.push(message("l", "go", "g"))
    assert calls == [["g"]]
    table.push(message(body=1))
    assert calls[1:] == [[0, 1]]


def test_events_nest(table):
    calls = collect(table, (("w0:a:1", "w1:a:1", "OR"), "learner:go:1", "AND"))
    table.push(message("w1", "a", 1))
    table.push(message("l", "go", 2))
    assert calls == [[1, 2]]


@pytest.mark.parametrize(
    ("event", "position"),
    [
        ("worker:update", "offset"),
        ("worker:update:none", "offset 14"),
        ("worker:update:0", "offset 14"),
        (("worker:update:1", "AND", "XOR"), "element"),
        (("worker:update:1", ("a:b:c", "OR"), "AND"), "element 2, element 1"),
        ((), "element|empty|operator"),
        (17, "17"),
    ],
)
def test_a_syntax_error_names_the_event_and_the_position(table, event, position):
    with pytest.raises(ConditionalEventSyntaxError, match=position) as caught:
        table.register_event_handler(event, print)
    text = str(caught.value)
    assert all(part in text for part in ([event] if isinstance(event, str) else []))
    assert caught.value.error_code == 1008


def test_a_handler_must_be_callable(table):
    with pytest.raises(TypeError, match="not callable"):
        table.register_event_handler("worker:update:1", None)


def test_what_a_handler_raises_comes_out(table):
    def fail(messages):
        raise ZeroDivisionError

    table.register_event_handler("worker:update:1", fail)
    with pytest.raises(ZeroDivisionError):
        table.push(message())


def test_clear_forgets_messages_and_keeps_events(table):
    calls = collect(table, "worker:update:2")
    table.push(message(body=1))
    assert len(table) == 1
    table.clear()
    assert len(table) == 0
    table.push(message(body=2))
    table.push(message(body=3))
    assert calls == [[2, 3]]


def test_percentages_follow_peers_that_come_and_go():
    peers = {"worker": ["a", "b", "c", "d"]}
    table = RegisterTable(lambda: peers)
    calls = collect(table, "worker:update:50%")
    table.push(message("a"))
    assert calls == []
    peers["worker"] = ["a", "b"]
    assert [messages[0].source for _, messages in table.get()] == ["a"]


def test_peers_may_come_from_a_function_of_the_type():
    table = RegisterTable(lambda kind: PEERS.get(kind, []))
    calls = collect(table, "worker:update:60%")
    for number in range(3):
        table.push(message(f"w{number}"))
    assert len(calls) == 1
    with pytest.raises(TypeError, match="neither"):
        RegisterTable(3)


def test_the_older_get_peers_of_a_proxy_can_be_passed(pair):
    master, worker = pair
    table = RegisterTable(master.get_peers)
    calls = collect(table, "worker:update:100%")
    worker.isend(SessionMessage("update", "worker", "master", 1, SessionType.NOTIFICATION))
    table.push(master.receive_once(PATIENCE))
    assert calls == [[1]]


def test_matching_stays_fast_with_many_events_and_messages():
    table = RegisterTable(PEERS)
    for number in range(1000):
        table.register_event_handler((f"worker:t{number}:1000000", "learner:go:1", "AND"), print)
    began = time.process_time()
    for number in range(100_000):
        table.push(message(tag=f"t{number % 1000}"))
    # A thousandth of what looking at all events or all messages would take.
    assert time.process_time() - began < 30
    assert len(table) == 100_000
