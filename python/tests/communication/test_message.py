import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
from components import Tag

from muster.communication import (
    Json,
    Message,
    MessageSessionTypeError,
    NotificationSessionStage,
    SessionMessage,
    SessionType,
    TaskSessionStage,
)


def test_a_message_has_what_it_was_made_from_and_ids():
    message = Message("tag", "me", "you", {"a": 1})
    assert (message.tag, message.source, message.destination) == ("tag", "me", "you")
    assert message.body == {"a": 1}
    assert isinstance(message.session_id, str)
    assert isinstance(message.message_id, str)
    other = Message("tag", "me", "you")
    assert other.session_id != message.session_id
    assert other.message_id != message.message_id
    assert message.session_id == message.session_id


def test_a_message_without_a_body_has_an_empty_dict():
    assert Message("tag", "me", "you").body == {}
    assert Message("tag", "me", "you", None).body == {}


def test_payload_is_the_older_name_of_body():
    message = Message(tag="tag", source="me", destination="you", payload=[1])
    assert message.body == message.payload == [1]
    message.payload = 2
    assert message.body == 2
    with pytest.raises(TypeError, match="body or payload"):
        Message("tag", "me", "you", body=1, payload=2)


def test_the_body_is_the_object_that_was_given():
    body = {"list": []}
    message = Message("tag", "me", "you", body)
    assert message.body is body


@pytest.mark.parametrize("body", [None, 0, "", b"", [], False])
def test_an_empty_body_can_be_set(body):
    message = Message("tag", "me", "you", 1)
    message.body = body
    assert message.body is body


def test_a_reply_swaps_the_names_and_keeps_the_session():
    message = Message("tag", "me", "you", 1)
    session, identity = message.session_id, message.message_id
    assert message.reply(tag="answer", body=2) is None
    assert (message.source, message.destination) == ("you", "me")
    assert (message.tag, message.body) == ("answer", 2)
    assert message.session_id == session
    assert message.message_id != identity


def test_a_reply_keeps_the_tag_but_not_the_body():
    message = Message("tag", "me", "you", 1)
    message.reply()
    assert (message.tag, message.body) == ("tag", None)


def test_a_forward_keeps_tag_and_body_unless_others_are_given():
    message = Message("tag", "me", "you", 1)
    session = message.session_id
    message.forward("her")
    assert (message.source, message.destination) == ("you", "her")
    assert (message.tag, message.body, message.session_id) == ("tag", 1, session)
    message.forward("him", tag="other", body=2)
    assert (message.source, message.tag, message.body) == ("her", "other", 2)


def test_a_session_message_is_the_request_of_a_task_by_default():
    message = SessionMessage("tag", "me", "you")
    assert message.session_type is SessionType.TASK
    assert message.session_stage is TaskSessionStage.REQUEST
    notification = SessionMessage("tag", "me", "you", session_type=SessionType.NOTIFICATION)
    assert notification.session_stage is NotificationSessionStage.REQUEST


def test_a_session_message_takes_a_stage_of_its_type():
    message = SessionMessage("t", "me", "you", None, SessionType.TASK, TaskSessionStage.COMPLETE)
    assert message.session_stage is TaskSessionStage.COMPLETE
    message.session_stage = TaskSessionStage.RECEIVE
    assert message.session_stage is TaskSessionStage.RECEIVE
    with pytest.raises(MessageSessionTypeError):
        message.session_stage = NotificationSessionStage.RECEIVE


@pytest.mark.parametrize("wrong", ["nonsense", 3, TaskSessionStage.REQUEST])
def test_an_unsupported_session_type_is_named(wrong):
    with pytest.raises(MessageSessionTypeError, match="Unsupported session type") as caught:
        SessionMessage("tag", "me", "you", session_type=wrong)
    assert isinstance(caught.value, KeyError)


def test_session_enums_have_the_values_that_users_know():
    assert [member.value for member in SessionType] == ["task", "notification"]
    assert TaskSessionStage.COMPLETE.value == "task_complete"
    assert NotificationSessionStage.RECEIVE.value == "notification_receive"


def test_a_tag_may_be_a_member_of_an_enum():
    message = Message(Tag.WORK, "me", "you")
    assert message.tag is Tag.WORK
    message.tag = "text"
    assert message.tag == "text"


@pytest.mark.parametrize("tag", [1, b"tag"])
def test_other_tags_are_refused(tag):
    with pytest.raises(TypeError, match="str or a member of an Enum"):
        Message(tag, "me", "you")


@pytest.mark.parametrize("kind", [Message, SessionMessage])
def test_what_a_message_lacks_is_named(kind):
    with pytest.raises(TypeError, match="a tag is a str or a member of an Enum, not None"):
        kind()
    with pytest.raises(TypeError, match="destination is a str, not None"):
        kind("tag", "me")


@pytest.mark.parametrize(("source", "destination"), [(1, "you"), ("me", None)])
def test_names_are_text(source, destination):
    with pytest.raises(TypeError):
        Message("tag", source, destination)


def test_the_repr_shows_every_field():
    text = repr(SessionMessage(Tag.WORK, "me", "you", {"key": "value"}))
    for part in ("tag = Tag.WORK", "source = me", "destination = you", "{'key': 'value'}"):
        assert part in text
    assert "session_stage = TaskSessionStage.REQUEST" in text


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
@pytest.mark.parametrize("kind", [Message, SessionMessage])
def test_messages_can_be_copied_and_pickled(duplicate, kind):
    message = kind(Tag.WORK, "me", "you", {"a": np.arange(3)})
    other = duplicate(message)
    assert type(other) is kind
    assert other is not message
    assert other.tag is Tag.WORK
    assert (other.session_id, other.message_id) == (message.session_id, message.message_id)
    np.testing.assert_array_equal(other.body["a"], message.body["a"])


def test_messages_take_further_attributes():
    message = Message("tag", "me", "you")
    message.arrived_at = 5
    assert message.arrived_at == 5


def test_a_message_in_its_own_body_is_collected():
    message = Message("tag", "me", "you", [])
    message.body.append(message)
    watch = weakref.ref(message)
    del message
    gc.collect()
    assert watch() is None


def test_an_id_that_is_none_is_refused():
    with pytest.raises(ValueError, match="'nonsense' is not an id"):
        Message("tag", "me", "you").session_id = "nonsense"


def test_json_shows_its_value():
    assert repr(Json([1])) == "Json([1])"
    assert Json([1]).value == [1]
