"""Proxies of one process: what each method does."""

import threading

import pytest
from components import PATIENCE, Tag, in_thread

from muster.communication import (
    Json,
    Message,
    NotificationSessionStage,
    PeersMissError,
    ProxyClosedError,
    SessionClosedError,
    SessionMessage,
    SessionType,
    TaskSessionStage,
)


def request(tag="tag", body=None, destination="worker", kind=SessionType.TASK):
    return SessionMessage(tag, "master", destination, body, kind)


def answer_one(proxy, body="answer", **options):
    proxy.reply(proxy.receive_once(PATIENCE), tag="reply", body=body, **options)


def test_a_proxy_knows_itself_and_its_peers(pair):
    master, worker = pair
    assert (master.name, master.component_type) == ("master", "master")
    assert master.peers == master.peers_name == {"worker": ["worker"]}
    assert master.get_peers() == master.get_peers("worker") == ["worker"]
    assert master.get_peer_type("worker") == "worker"
    assert master.group_name == worker.group_name
    assert "'master'" in repr(master)
    with pytest.raises(PeersMissError, match="'nobody'"):
        master.get_peer_type("nobody")
    with pytest.raises(PeersMissError, match="'nobody'"):
        master.get_peers("nobody")


def test_peers_lists_only_expected_types(join):
    masters = {"component_type": "master", "expected_peers": {"worker": 2}}
    workers = {"component_type": "worker", "expected_peers": {"master": 1}}
    master, first, second = join(masters, workers, workers)
    assert list(first.peers) == ["master"]
    assert sorted(master.peers["worker"]) == sorted([first.name, second.name])


@pytest.mark.parametrize(
    "body", [1, "text", b"bytes", None, {"a": [1]}, "", b"", "ünï€", "\ud800", "x" * 100_000]
)
def test_a_request_is_answered(pair, body):
    master, worker = pair
    thread = in_thread(lambda: worker.reply((m := worker.receive_once(PATIENCE)), body=m.body))
    [reply] = master.send(request(body={} if body is None else body), timeout=PATIENCE)
    thread.join()
    assert reply.body == ({} if body is None else body)
    assert type(reply.body) is type({} if body is None else body)
    assert reply.source == "worker"
    assert reply.session_stage is TaskSessionStage.COMPLETE


def test_a_received_message_is_a_session_message_of_its_sender(pair):
    master, worker = pair
    message = request("hello", 1)
    assert master.isend(message) == [message.session_id]
    received = worker.receive_once(PATIENCE)
    assert type(received) is SessionMessage
    assert isinstance(received, Message)
    assert (received.tag, received.body) == ("hello", 1)
    assert (received.source, received.destination) == ("master", "worker")
    assert received.session_id == message.session_id
    assert received.message_id == message.message_id
    assert received.session_stage is TaskSessionStage.REQUEST


def test_the_source_is_always_the_real_sender(pair):
    master, worker = pair
    master.isend(Message("tag", "somebody else", "worker"))
    assert worker.receive_once(PATIENCE).source == "master"


def test_a_json_body_arrives_as_its_value(pair):
    master, worker = pair
    master.isend(request(body=Json({"a": [1, None, "ü"]})))
    assert worker.receive_once(PATIENCE).body == {"a": [1, None, "ü"]}


def test_receive_yields_until_nothing_comes(pair):
    master, worker = pair
    for number in range(3):
        master.isend(request(body=number))
    assert [message.body for message in worker.receive(timeout=200)] == [0, 1, 2]
    assert list(worker.receive(timeout=0)) == []
    assert list(worker.receive(10)) == []


def test_receive_can_be_asked_for_one_message(pair):
    master, worker = pair
    for number in range(2):
        master.isend(request(body=number))
    assert [message.body for message in worker.receive(is_continuous=False)] == [0]
    assert [message.body for message in worker.receive(False, PATIENCE)] == [1]
    assert list(worker.receive(is_continuous=False, timeout=0)) == []


def test_receive_once_looks_once_with_a_timeout_of_zero(pair):
    _, worker = pair
    assert worker.receive_once(0) is None
    assert worker.receive_once(timeout=1) is None


def test_receive_by_id_leaves_other_messages_to_receive(pair):
    master, worker = pair
    ids = master.isend(request("wanted"))
    worker.isend(SessionMessage("unasked", "worker", "master", "still here"))
    answer_one(worker)
    [reply] = master.receive_by_id(ids, timeout=PATIENCE)
    assert reply.tag == "reply"
    assert master.receive_once(PATIENCE).body == "still here"


def test_receive_by_id_takes_one_id_or_many_and_counts_them(pair):
    master, worker = pair
    [first] = master.isend(request())
    [second] = master.isend(request())
    worker.reply(worker.receive_once(PATIENCE), body=1, ack_reply=True)
    answer_one(worker, 2)
    assert [m.body for m in master.receive_by_id(second, PATIENCE)] == [2]
    assert [m.body for m in master.receive_by_id([first], PATIENCE)] == [1]


def test_receive_by_id_returns_what_came_in_time(pair):
    master, worker = pair
    ids = master.isend(request()) + master.isend(request())
    answer_one(worker, "only one")
    assert [m.body for m in master.receive_by_id(ids, timeout=200)] == ["only one"]
    assert master.receive_by_id(ids[1:], timeout=0) == []


def test_receive_by_id_of_nothing_warns(pair, caplog):
    master, _ = pair
    assert master.receive_by_id(None) is None
    assert "receive_by_id" in caplog.text
    with pytest.raises(ValueError, match="'nonsense' is not a session id"):
        master.receive_by_id("nonsense")


def test_an_acknowledged_task_is_completed_later(pair):
    master, worker = pair
    ids = master.isend(request())
    message = worker.receive_once(PATIENCE)
    worker.reply(message, tag="got it", ack_reply=True)
    assert message.session_stage is TaskSessionStage.RECEIVE
    worker.reply(message, tag="done", body=42)
    receipt, result = master.receive_by_id(ids * 2, PATIENCE)
    assert (receipt.tag, receipt.session_stage) == ("got it", TaskSessionStage.RECEIVE)
    assert (result.tag, result.body, result.session_stage) == (
        "done",
        42,
        TaskSessionStage.COMPLETE,
    )


def test_a_second_answer_is_an_error(pair):
    master, worker = pair
    master.isend(request())
    message = worker.receive_once(PATIENCE)
    worker.reply(message)
    with pytest.raises(SessionClosedError):
        worker.reply(message)


def test_a_notification_is_answered_with_a_receipt(pair):
    master, worker = pair
    ids = master.isend(request(kind=SessionType.NOTIFICATION))
    worker.reply(worker.receive_once(PATIENCE))
    [receipt] = master.receive_by_id(ids, PATIENCE)
    assert receipt.session_stage is NotificationSessionStage.RECEIVE


def test_a_message_that_was_turned_into_its_answer_can_be_sent(pair):
    master, worker = pair
    ids = master.isend(request())
    message = worker.receive_once(PATIENCE)
    message.reply(tag="by hand", body="done")
    worker.isend(message)
    [reply] = master.receive_by_id(ids, PATIENCE)
    assert (reply.tag, reply.body, reply.source) == ("by hand", "done", "worker")


def test_a_reply_without_a_body_carries_none(pair):
    master, worker = pair
    ids = master.isend(request(body="large request"))
    worker.reply(worker.receive_once(PATIENCE))
    [reply] = master.receive_by_id(ids, PATIENCE)
    assert (reply.tag, reply.body) == ("tag", None)


def test_a_message_can_be_sent_again(pair):
    master, worker = pair
    message = request(body=[])
    first = master.isend(message)
    message.body.append(1)
    second = master.isend(message)
    assert first != second
    assert [m.body for m in worker.receive(timeout=200)] == [[], [1]]


def test_enum_tags_arrive_as_the_same_member(pair):
    master, worker = pair
    ids = master.isend(request(Tag.WORK))
    message = worker.receive_once(PATIENCE)
    assert message.tag is Tag.WORK
    worker.reply(message, tag=Tag.NUMBER)
    assert master.receive_by_id(ids, PATIENCE)[0].tag is Tag.NUMBER
    master.ibroadcast("worker", Tag.WORK, SessionType.NOTIFICATION)
    master.iscatter(Tag.STOP, SessionType.NOTIFICATION, [("worker", 1)])
    assert [worker.receive_once(PATIENCE).tag for _ in range(2)] == [Tag.WORK, Tag.STOP]


def test_an_enum_that_cannot_be_found_arrives_as_its_value(pair, monkeypatch):
    master, worker = pair
    monkeypatch.setattr(Tag, "__module__", "no.such.module", raising=False)

    from enum import Enum

    class Local(Enum):
        HERE = "here"

    master.isend(request(Local.HERE))
    assert worker.receive_once(PATIENCE).tag == "here"


def test_scatter_sends_each_peer_its_own_body(join):
    workers = {"component_type": "worker", "expected_peers": {"master": 1}}
    master, *others = join(
        {"component_type": "master", "expected_peers": {"worker": 3}}, *[workers] * 3
    )
    threads = [
        in_thread(lambda w=w: w.reply((m := w.receive_once(PATIENCE)), body=m.body * 10))
        for w in others
    ]
    pairs = [(name, number) for number, name in enumerate(master.peers["worker"])]
    replies = master.scatter("work", SessionType.TASK, pairs)
    assert {reply.source: reply.body for reply in replies} == {n: b * 10 for n, b in pairs}
    for thread in threads:
        thread.join()
    ids = master.iscatter("work", SessionType.NOTIFICATION, destination_payload_list=pairs)
    assert len(set(ids)) == 3


def test_scatter_sends_nothing_when_one_destination_is_wrong(pair):
    master, worker = pair
    with pytest.raises(PeersMissError, match="'wroker'.*did you mean 'worker'"):
        master.iscatter("tag", SessionType.TASK, [("worker", 1), ("wroker", 2)])
    assert worker.receive_once(0) is None


@pytest.mark.parametrize("pairs", [[("worker",)], [1], None])
def test_scatter_refuses_what_are_no_pairs(pair, pairs):
    with pytest.raises((TypeError, ValueError)):
        pair[0].iscatter("tag", SessionType.TASK, pairs)


def test_a_broadcast_reaches_peers_that_have_never_received(join):
    workers = {"component_type": "worker", "expected_peers": {"master": 1}}
    master, *others = join(
        {"component_type": "master", "expected_peers": {"worker": 3}}, *[workers] * 3
    )
    ids = master.ibroadcast("worker", "news", SessionType.TASK, body={"epoch": 1})
    assert len(ids) == 3
    assert len(set(ids)) == 1
    for worker in others:
        message = worker.receive_once(PATIENCE)
        assert (message.tag, message.body) == ("news", {"epoch": 1})
        worker.reply(message, body=worker.name)
    replies = master.receive_by_id(ids, PATIENCE)
    assert sorted(reply.source for reply in replies) == sorted(worker.name for worker in others)
    assert all(reply.source == reply.body for reply in replies)


def test_broadcast_waits_for_all_replies(pair):
    master, worker = pair
    thread = in_thread(answer_one, worker, "seen")
    [reply] = master.broadcast("worker", "news", SessionType.TASK, payload=1, timeout=PATIENCE)
    thread.join()
    assert reply.body == "seen"
    with pytest.raises(PeersMissError, match="'wroker'"):
        master.ibroadcast("wroker", "news", SessionType.TASK)


def test_a_message_is_forwarded_without_looking_at_its_body(join):
    def component(kind, *peers):
        return {
            "component_type": kind,
            "component_name": kind,
            "expected_peers": dict.fromkeys(peers, 1),
        }

    a, b, c = join(component("a", "b", "c"), component("b", "a", "c"), component("c", "a", "b"))
    a.isend(SessionMessage("tag", "a", "b", Unreadable()))
    b.forward(b.receive_once(PATIENCE), "c")
    passed = c.receive_once(PATIENCE)
    assert (passed.source, passed.tag) == ("b", "tag")
    with pytest.raises(ZeroDivisionError):
        _ = passed.body


class Unreadable:
    """Raises when it is unpickled."""

    def __reduce__(self):
        return (divmod, (1, 0))


def test_a_body_that_cannot_be_pickled_is_an_error_of_the_sender(pair):
    master, worker = pair
    with pytest.raises(Exception, match="pickle"):
        master.isend(request(body=lambda: None))
    assert worker.receive_once(0) is None


def test_an_unknown_destination_is_named(pair):
    with pytest.raises(PeersMissError, match="'nobody'"):
        pair[0].isend(request(destination="nobody"))


def test_what_is_no_message_is_refused(pair):
    with pytest.raises(TypeError):
        pair[0].isend("text")


def test_a_closed_proxy_says_so(pair):
    master, _ = pair
    with master:
        pass
    master.close()
    assert master.closed
    assert "closed" in repr(master)
    with pytest.raises(ProxyClosedError):
        master.isend(request())
    with pytest.raises(ProxyClosedError):
        master.receive_once()
    assert list(master.receive()) == []


def test_closing_ends_waits_in_other_threads(pair):
    master, _ = pair
    ended = []

    def wait():
        with pytest.raises(ProxyClosedError):
            master.receive_once()
        ended.append(True)

    thread = in_thread(wait)
    master.receive_once(50)
    master.close()
    thread.join(30)
    assert ended == [True]


def test_messages_keep_their_order(pair):
    master, worker = pair
    for number in range(1000):
        master.isend(request(body=number, kind=SessionType.NOTIFICATION))
    assert [worker.receive_once(PATIENCE).body for _ in range(1000)] == list(range(1000))


def test_counters_count(pair):
    master, worker = pair
    master.isend(request())
    worker.receive_once(PATIENCE)
    assert master.counters["sent"] == 1
    assert worker.counters["received"] == 1


def test_the_current_thread_is_not_blocked_by_others(pair):
    _, worker = pair
    waiting = in_thread(worker.receive_once, 300)
    event = threading.Event()
    in_thread(event.set)
    assert event.wait(30)
    waiting.join(30)
