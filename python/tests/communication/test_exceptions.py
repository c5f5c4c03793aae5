import pickle

import pytest

from muster.communication import exceptions
from muster.communication.exceptions import (
    ConditionalEventSyntaxError,
    MAROException,
    MessageSessionTypeError,
    MusterError,
    PeersConnectionError,
    PeersMissError,
    PendingToSend,
    QueueFullError,
    SessionClosedError,
)

CODES = {
    "RedisConnectionError": 1001,
    "PeersMissError": 1002,
    "InformationUncompletedError": 1003,
    "PeersConnectionError": 1004,
    "DriverSendError": 1005,
    "DriverReceiveError": 1006,
    "MessageSessionTypeError": 1007,
    "ConditionalEventSyntaxError": 1008,
    "DriverTypeError": 1009,
    "SocketTypeError": 1010,
    "PeersDisconnectionError": 1011,
    "PendingToSend": 1012,
    "PeersRejoinTimeout": 1013,
}


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_exceptions_have_the_codes_that_users_know(name, code):
    error = getattr(exceptions, name)("what happened")
    assert error.error_code == code
    assert error.strerror == str(error) == "what happened"
    assert isinstance(error, MusterError)


@pytest.mark.parametrize("name", [*CODES, "QueueFullError", "ForkedError", "RefusedError"])
def test_an_exception_without_a_text_has_the_text_of_its_code(name):
    assert str(getattr(exceptions, name)())


def test_the_base_takes_a_code_and_a_text():
    assert MAROException is MusterError
    error = MusterError(4711, "text")
    assert (error.error_code, str(error)) == (4711, "text")
    assert MusterError().error_code == 1000


def test_exceptions_are_builtin_ones_too():
    assert issubclass(PeersConnectionError, ConnectionError)
    assert issubclass(exceptions.InformationUncompletedError, TimeoutError)
    assert issubclass(PeersMissError, LookupError)
    assert issubclass(ConditionalEventSyntaxError, ValueError)
    assert issubclass(MessageSessionTypeError, KeyError)
    assert issubclass(QueueFullError, exceptions.DriverSendError)
    assert issubclass(SessionClosedError, MessageSessionTypeError)
    assert issubclass(exceptions.ForkedError, RuntimeError)


@pytest.mark.parametrize(
    "error", [PendingToSend("gone"), PeersConnectionError("x"), MusterError(5, "y")]
)
def test_exceptions_can_be_pickled(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (copy.error_code, str(copy)) == (error.error_code, str(error))
