"""Functions of the user that run on the threads of a session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_thread = threading.local()


@contextmanager
def inside_function() -> Iterator[None]:
    """Within it, executions of this thread use a session of their own: the one that runs the
    function waits for it."""
    _thread.depth = getattr(_thread, "depth", 0) + 1
    try:
        yield
    finally:
        _thread.depth -= 1


def is_inside() -> bool:
    """Whether this thread runs a function for a session."""
    return getattr(_thread, "depth", 0) > 0


def own_session() -> Any:
    """The session of this thread's functions."""
    if not hasattr(_thread, "session"):
        from muster.session import Session

        _thread.session = Session(n_cpu=1)
    return _thread.session
