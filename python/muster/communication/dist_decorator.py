"""A class whose methods are called by messages."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from muster.communication._arguments import mapping
from muster.communication._arguments import timeout as check_timeout
from muster.communication._messages import Messages
from muster.communication.exceptions import ProxyClosedError
from muster.communication.message import Message
from muster.communication.proxy import Proxy
from muster.communication.registry_table import Event, RegisterTable

Handler = Callable[[Any, Proxy, Any], Any]

# Milliseconds until peers that have come or gone are noticed while no message comes.
_LOOK_AGAIN = 100.0


def dist(
    proxy: Proxy, handler_dict: Mapping[Event, Handler]
) -> Callable[[type], type[_Distributed]]:
    """Lets messages that ``proxy`` receives call functions with an instance of the decorated class.

    Arguments:
        proxy: Receives the messages.
        handler_dict: Conditional events and the functions to call, as ``handler(that, proxy,
            messages)``. A single message works both as a message and as a list of one.

    ::

        @dist(proxy, {"learner:rollout:1": on_rollout})
        class Actor: ...

        Actor(environment).launch()
    """

    if not hasattr(proxy, "receive_once"):
        raise TypeError(f"dist: proxy is a Proxy, not {proxy!r}")
    mapping("dist: handler_dict", handler_dict, "{event: function}")
    for event, handler in handler_dict.items():
        if not callable(handler):
            raise TypeError(f"dist: the handler of event {event!r} is not callable: {handler!r}")

    def decorate(cls: type) -> type[_Distributed]:
        class Wrapper(_Distributed):
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(proxy, handler_dict, cls(*args, **kwargs))

        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(Wrapper, name, getattr(cls, name))
        Wrapper.__wrapped__ = cls
        return Wrapper

    return decorate


class _Distributed:
    __wrapped__: type

    def __init__(
        self, proxy: Proxy, handlers: Mapping[Event, Handler], local_instance: Any
    ) -> None:
        self.local_instance = local_instance
        """The instance of the decorated class."""
        self.proxy = proxy
        self._handlers = dict(handlers)
        self._table = RegisterTable(lambda: proxy.peers, version=lambda: proxy.peers_version)
        for event, handler in self._handlers.items():
            self._table.register_event_handler(event, partial(handler, local_instance, proxy))

    def __getattr__(self, name: str) -> Any:
        if name == "local_instance":  # not there yet: its constructor failed
            raise AttributeError(name)
        return getattr(self.local_instance, name)

    def launch(self, timeout: float | None = None) -> None:
        """Receives messages and calls handlers until the proxy is closed.

        With a timeout, it also ends when no message came for so many milliseconds. What a handler
        raises comes out of here.
        """
        check_timeout("timeout", timeout)
        idle_at = _after(timeout)
        while not self.proxy.closed and time.monotonic() < idle_at:
            message = self._next(idle_at)
            if message is not None:
                idle_at = _after(timeout)
                self._table.push(message, auto_trigger=False)
            for handler, messages in self._table.get():
                handler(Messages(messages))

    def _next(self, idle_at: float) -> Message | None:
        """The next message, or None after a while: peers that left may satisfy an event too."""
        left = max(idle_at - time.monotonic(), 0)
        try:
            return self.proxy.receive_once(min(_LOOK_AGAIN, left * 1000))
        except ProxyClosedError:
            return None


def _after(timeout: float | None) -> float:
    return math.inf if timeout is None or timeout < 0 else time.monotonic() + timeout / 1000


__all__ = ["Messages", "dist"]
