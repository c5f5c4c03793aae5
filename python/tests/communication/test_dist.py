import pytest
from components import PATIENCE, in_thread

from muster.communication import Message, SessionMessage, SessionType, dist
from muster.communication.dist_decorator import Messages


def note(kind=SessionType.NOTIFICATION, tag="sum", body=None):
    return SessionMessage(tag, "master", "worker", body, kind)


def stop(that, proxy, message):
    proxy.close()


def test_messages_call_handlers_with_the_local_instance(pair):
    master, worker = pair

    def on_sum(that, proxy, message):
        assert proxy is worker
        proxy.reply(message, tag="result", body=that.add(message.body))

    @dist(worker, {"master:sum:1": on_sum, "master:stop:1": stop})
    class Adder:
        """Adds up."""

        def __init__(self, start, step=0):
            self.total = start + step

        def add(self, number):
            self.total += number
            return self.total

    adder = Adder(10, step=1)
    assert (Adder.__name__, Adder.__doc__) == ("Adder", "Adds up.")
    assert adder.total == adder.local_instance.total == 11
    assert adder.proxy is worker
    thread = in_thread(adder.launch)
    for number, total in ((1, 12), (2, 14)):
        [reply] = master.send(note(SessionType.TASK, body=number), PATIENCE)
        assert (reply.tag, reply.body) == ("result", total)
    master.isend(note(tag="stop"))
    thread.join(30)
    assert not thread.is_alive()
    assert adder.total == 14
    with pytest.raises(AttributeError):
        _ = adder.nonsense


def test_several_messages_come_as_a_list(pair):
    master, worker = pair
    seen = []

    def on_batch(that, proxy, messages):
        seen.append([message.body for message in messages])
        proxy.close()

    @dist(worker, {("master:sum:2", "master:more:1", "AND"): on_batch})
    class Collector:
        pass

    for number in range(2):
        master.isend(note(body=number))
    master.isend(note(tag="more", body="more"))
    Collector().launch()
    assert seen == [[0, 1, "more"]]


def test_launch_can_end_when_nothing_comes(pair):
    @dist(pair[1], {"master:sum:1": stop})
    class Idle:
        pass

    Idle().launch(timeout=10)


def test_what_a_handler_raises_comes_out_of_launch(pair):
    master, worker = pair

    def fail(that, proxy, message):
        raise ZeroDivisionError

    @dist(worker, {"master:sum:1": fail})
    class Failing:
        pass

    master.isend(note())
    with pytest.raises(ZeroDivisionError):
        Failing().launch()


def test_a_single_message_works_as_a_message_and_as_a_list():
    message = Message("tag", "me", "you", 5)
    messages = Messages([message])
    assert messages.body == messages[0].body == 5
    assert list(messages) == [message]
    messages.body = 6
    assert message.body == 6
    assert len(messages) == 1
    several = Messages([message, message])
    with pytest.raises(AttributeError, match="2 messages"):
        _ = several.body
    with pytest.raises(AttributeError, match="2 messages"):
        several.body = 1


def test_several_messages_cannot_be_sent_as_one(pair):
    message = Message("tag", "me", "you")
    with pytest.raises(TypeError, match="not 2"):
        pair[0].isend(Messages([message, message]))
