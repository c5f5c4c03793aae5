"""A call that was started."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from muster._core import NativeHandle
from muster.collective._arguments import explain

Result = TypeVar("Result")


class Handle(Generic[Result]):
    """A collective, or a send or receive, that goes on in the background.

    It keeps its arrays alive. One that is dropped before it is over gives the call up, which ends
    the group for all ranks, so wait for it. One thread at a time may use a handle; ``cancel`` may
    come from any.
    """

    def __init__(self, native: NativeHandle, result: Result) -> None:
        self._native = native
        self._result = result

    def wait(self, timeout: float | None = None) -> Result:
        """Returns the result when the call is over, every time it is asked.

        Arguments:
            timeout: Seconds. When they pass, ``OperationTimeoutError``, and the call goes on.
        """
        try:
            self._native.wait(timeout)
        except TypeError as error:
            raise explain("wait", error, timeout=timeout) from None
        return self._result

    def test(self) -> bool:
        """Whether the call is over. Raises its error if it failed."""
        return self._native.test()

    def cancel(self) -> None:
        """Gives up a call that is not over: its arrays are not touched after this returns.

        The other ranks may have done their part, so all calls of the group fail on all ranks until
        ``shrink``. A receive that has no message yet is given up without harm.
        """
        self._native.cancel()

    def __repr__(self) -> str:
        return f"Handle({self._result!r})"


def result_of(handle: Handle[Any]) -> Any:
    """What the handle will return; may not be there yet."""
    return handle._result
