"""Conditional events: handlers that are called when certain messages have come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Union

from muster._core import EventTable
from muster.communication._arguments import explain
from muster.communication.message import Message

Event = Union[str, "tuple[Any, ...]"]
Handler = Callable[[Any], Any]
Peers = Mapping[str, Sequence[str]]

AND, OR = "AND", "OR"


class RegisterTable:
    """Calls handlers when the messages that their events ask for have come.

    A unit event is ``"source:tag:amount"``: the source is a peer type, a peer name or ``*``, the
    tag a tag (of an Enum, its value) or ``*``, the amount a number of messages or a percentage of
    the peers that match at that moment. Events nest as tuples that end with ``"AND"``, ``"&&"``,
    ``"OR"`` or ``"||"``::

        table = RegisterTable(proxy.peers)
        table.register_event_handler(("actor:rollout:60%", "timer:tick:1", "OR"), update)

    Arguments:
        peers: The names of the peers by type; a function that returns it, for peers that come and
            go; or a function that returns the names of one type.
    """

    def __init__(
        self,
        peers: Peers | Callable[[], Peers] | Callable[[str], Sequence[str]],
        *,
        version: Callable[[], int] | None = None,
    ) -> None:
        self._sources: set[str] = set()
        self._table = EventTable(_peers_function(peers, self._sources), version)
        self._handlers: list[Handler] = []
        self._waiting: dict[int, tuple[Message, int]] = {}
        self._next_token = 0

    def register_event_handler(self, event: Event, handler_fn: Handler) -> None:
        """Registers a function that is called with the messages once the event is satisfied.

        The event sees the messages that are pushed from now on. Raises
        ``ConditionalEventSyntaxError``, which names the event and the position of the mistake.
        """
        if not callable(handler_fn):
            raise TypeError(f"the handler of event {event!r} is not callable: {handler_fn!r}")
        sources = _sources_of(event)
        self._sources |= sources
        self._table.add(event)
        self._handlers.append(handler_fn)

    def push(self, message: Message, auto_trigger: bool = True) -> list[Any] | None:
        """Offers a message to all events.

        With ``auto_trigger`` the handlers of satisfied events are called with their list of
        messages, and what they return is returned as a list (None when no event is satisfied).
        Without, ``get`` returns them.
        """
        token = self._next_token
        try:
            events = self._table.push(token, message.source, message.tag)
        except AttributeError as error:
            raise explain("push", error, message=message) from None
        if events:
            self._next_token += 1
            self._waiting[token] = (message, events)
        if not auto_trigger:
            return None
        satisfied = self.get()
        if not satisfied:
            return None
        return [handler(messages) for handler, messages in satisfied]

    def get(self) -> list[tuple[Handler, list[Message]]]:
        """The handlers of satisfied events, to be called with the messages that are theirs."""
        return [
            (self._handlers[event], [self._release(token) for token in tokens])
            for event, tokens in self._table.take_fired()
        ]

    def clear(self) -> None:
        """Forgets all messages; events and handlers stay."""
        self._table.clear()
        self._waiting.clear()

    def __len__(self) -> int:
        """How many messages wait; a message counts once for each event in which it waits."""
        return self._table.waiting

    def _release(self, token: int) -> Message:
        message, events = self._waiting[token]
        if events == 1:
            del self._waiting[token]
        else:
            self._waiting[token] = (message, events - 1)
        return message


def _peers_function(peers: Any, sources: set[str]) -> Callable[[], dict[str, list[str]]]:
    if isinstance(peers, Mapping):
        for kind, names in peers.items():
            if isinstance(names, str) or not isinstance(names, Iterable):
                raise TypeError(f"peers: the names of type {kind!r} are a list, not {names!r}")
        return lambda: {kind: list(names) for kind, names in peers.items()}
    if not callable(peers):
        raise TypeError(f"peers is neither a dict nor a function: {peers!r}")

    def by_type() -> dict[str, list[str]]:
        return {kind: list(names) for kind, names in peers().items()}

    def by_asking() -> dict[str, list[str]]:
        return {source: list(peers(source)) for source in sources}

    try:
        return by_type if isinstance(peers(), Mapping) else by_asking
    except TypeError:
        return by_asking


def _sources_of(event: Any) -> set[str]:
    if isinstance(event, str):
        source = event.partition(":")[0]
        return {source} - {"*", "AND", "OR", "&&", "||", ""}
    if isinstance(event, (tuple, list)):
        return set().union(*(_sources_of(element) for element in event))
    return set()


__all__ = ["RegisterTable"]
