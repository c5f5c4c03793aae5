"""What can go wrong in communication: one exception class per error code.

Every class derives from :class:`MusterError` and from the built-in exception that fits, so that
``except ConnectionError`` and ``except TimeoutError`` work too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from muster._core import register_exceptions

if TYPE_CHECKING:
    from muster.communication.message import SessionMessage

ERROR_TEXT = {
    1000: "Communication failed",
    1001: "The discovery store does not answer",
    1002: "No such peer, or no peers given",
    1003: "Not all expected peers were found in time",
    1004: "A peer could not be connected, or was lost",
    1005: "A message could not be sent",
    1006: "Receiving failed",
    1007: "The session does not allow this",
    1008: "The conditional event cannot be read",
    1009: "No such driver",
    1010: "The address does not fit the driver",
    1011: "A peer could not be disconnected",
    1012: "The peer is away and may come back",
    1013: "Too few peers came back in time",
    1100: "A queue is full",
    1101: "The deadline passed",
    1102: "The proxy is closed",
    1103: "Malformed bytes",
    1104: "The session has ended",
    1105: "Refused",
    1106: "Inherited through fork",
    1107: "Too many messages wait to be received",
    1108: "Interrupted",
    1200: "A rank of the group is lost",
    1201: "The ranks of the group called different things",
    1202: "The group went on without this rank",
    1203: "A call was given up",
    1204: "More came than the group has ranks",
    1205: "The reduction function of a rank failed",
}


class MusterError(Exception):
    """Base of all errors of this package."""

    def __init__(self, error_code: int | str = 1000, msg: str | None = None) -> None:
        # A text alone is a failure that has no class of its own.
        code, msg = (1000, error_code) if isinstance(error_code, str) else (error_code, msg)
        super().__init__(code, msg)
        self.error_code = code
        """The number of the error, the same in every version."""
        self.strerror: str | None = msg or ERROR_TEXT.get(code, "Unknown error")
        """What happened, in words."""

    def __str__(self) -> str:
        return self.strerror or ""


MAROException = MusterError
"""The name of the base class in the predecessor."""


class _CodedError(MusterError):
    code: ClassVar[int] = 1000

    def __init__(self, msg: str | None = None) -> None:
        super().__init__(self.code, msg)
        self.args = (msg,)


class RedisConnectionError(_CodedError, ConnectionError):
    """The discovery store (Redis, or the folder of the file store) does not answer."""

    code = 1001


class PeersMissError(_CodedError, LookupError):
    """No such peer, or no peers given."""

    code = 1002


class InformationUncompletedError(_CodedError, TimeoutError):
    """Not all expected peers came while joining."""

    code = 1003


class PeersConnectionError(_CodedError, ConnectionError):
    """A peer could not be connected, or was lost while something waited for it."""

    code = 1004

    def __init__(self, msg: str | None = None, replies: list[SessionMessage] | None = None) -> None:
        super().__init__(msg)
        self.replies = [] if replies is None else replies
        """The replies that did come."""


class DriverSendError(_CodedError, ConnectionError):
    """A message could not be sent."""

    code = 1005


class DriverReceiveError(_CodedError, ConnectionError):
    """Receiving failed."""

    code = 1006


class MessageSessionTypeError(_CodedError, KeyError):
    """A session type or stage that does not exist, or a move that the session does not allow."""

    code = 1007


class ConditionalEventSyntaxError(_CodedError, ValueError):
    """A conditional event that cannot be read; the text names the event and the position."""

    code = 1008


class DriverTypeError(_CodedError, ValueError):
    """No such driver, or it is not available here."""

    code = 1009


class SocketTypeError(_CodedError, ValueError):
    """An address that the driver cannot use."""

    code = 1010


class PeersDisconnectionError(_CodedError, ConnectionError):
    """A peer could not be disconnected."""

    code = 1011


class PendingToSend(_CodedError, ConnectionError):
    """The peer is away and may come back; the message was not kept for it."""

    code = 1012


class PeersRejoinTimeout(_CodedError, TimeoutError):
    """Too few peers came back in time."""

    code = 1013


class QueueFullError(DriverSendError):
    """A queue stayed full: the receiver takes messages more slowly than they are sent."""

    code = 1100


class OperationTimeoutError(_CodedError, TimeoutError):
    """The deadline passed."""

    code = 1101


class ProxyClosedError(_CodedError, RuntimeError):
    """The proxy or driver is closed, or was closed by another thread meanwhile."""

    code = 1102


class MalformedError(DriverReceiveError, ValueError):
    """Bytes that are not what they claim to be."""

    code = 1103


class SessionClosedError(MessageSessionTypeError):
    """A reply to a session that has ended."""

    code = 1104


class RefusedError(_CodedError, PermissionError):
    """Not allowed without a secret, or the secret is wrong."""

    code = 1105


class ForkedError(_CodedError, RuntimeError):
    """A proxy that was inherited through fork was used; a child process makes its own."""

    code = 1106


class InboxFullError(DriverReceiveError):
    """Too many messages wait to be received while the program waits for others."""

    code = 1107


class RankLostError(_CodedError, ConnectionError):
    """A rank of the group died, fell silent or left; the text names it. ``Group.shrink`` makes a
    group of those that are left."""

    code = 1200


class CallMismatchError(_CodedError, ValueError):
    """The ranks of a group called different operations, or with different shapes or types; the text
    names the rank that differs and both calls."""

    code = 1201


class ExpelledError(_CodedError, ConnectionError):
    """The group went on without this rank, which was silent for too long."""

    code = 1202


class CallCancelledError(_CodedError, RuntimeError):
    """A call was given up, by this rank or by another."""

    code = 1203


class GroupFullError(_CodedError, ValueError):
    """More came than the group has ranks, or two for one rank."""

    code = 1204


class ReductionFailedError(_CodedError, RuntimeError):
    """The reduction function of another rank raised an exception; the text names the rank. On that
    rank, its own exception is raised."""

    code = 1205


def _with_subclasses(base: type[_CodedError]) -> list[type[_CodedError]]:
    found = []
    for derived in base.__subclasses__():
        found += [derived, *_with_subclasses(derived)]
    return found


register_exceptions({1000: MusterError, **{c.code: c for c in _with_subclasses(_CodedError)}})

__all__ = [
    "CallCancelledError",
    "CallMismatchError",
    "ConditionalEventSyntaxError",
    "DriverReceiveError",
    "DriverSendError",
    "DriverTypeError",
    "ExpelledError",
    "ForkedError",
    "GroupFullError",
    "InboxFullError",
    "InformationUncompletedError",
    "MAROException",
    "MalformedError",
    "MessageSessionTypeError",
    "MusterError",
    "OperationTimeoutError",
    "PeersConnectionError",
    "PeersDisconnectionError",
    "PeersMissError",
    "PeersRejoinTimeout",
    "PendingToSend",
    "ProxyClosedError",
    "QueueFullError",
    "RankLostError",
    "RedisConnectionError",
    "ReductionFailedError",
    "RefusedError",
    "SessionClosedError",
    "SocketTypeError",
]
