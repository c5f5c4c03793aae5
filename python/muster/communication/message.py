"""Messages and sessions."""

from __future__ import annotations

from enum import Enum
from typing import Union

import muster.communication.exceptions  # noqa: F401  (messages raise them)
from muster._core import Json, Message, SessionMessage, register_session_enums


class SessionType(Enum):
    """What a session is about."""

    TASK = "task"
    """A task is answered with a result."""
    NOTIFICATION = "notification"
    """A notification is answered at most with a receipt."""


class TaskSessionStage(Enum):
    """How far a task is."""

    REQUEST = "task_request"
    RECEIVE = "task_receive"
    COMPLETE = "task_complete"


class NotificationSessionStage(Enum):
    """How far a notification is."""

    REQUEST = "notification_request"
    RECEIVE = "notification_receive"


SessionStage = Union[TaskSessionStage, NotificationSessionStage]

register_session_enums(SessionType, TaskSessionStage, NotificationSessionStage)

__all__ = [
    "Json",
    "Message",
    "NotificationSessionStage",
    "SessionMessage",
    "SessionStage",
    "SessionType",
    "TaskSessionStage",
]
