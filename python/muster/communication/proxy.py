"""A component's connection to its group."""

from __future__ import annotations

import atexit
import math
import operator
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import TracebackType
from typing import Any, Optional, Union

import numpy as np

from muster._core import NativeProxy
from muster.communication import _arguments, _options
from muster.communication._arguments import explain
from muster.communication._logging import follow_level, logger
from muster.communication._messages import single
from muster.communication.driver.driver_type import DriverType
from muster.communication.exceptions import (
    PeersConnectionError,
    PeersMissError,
    ProxyClosedError,
)
from muster.communication.message import Message, SessionMessage, SessionType

Tag = Union[str, Enum]
Timeout = Optional[float]
DestinationBodies = Iterable[tuple[str, Any]]

_open_proxies: weakref.WeakSet[Proxy] = weakref.WeakSet()


class Proxy:
    """Finds the peers of a component, sends and receives, notices who dies and who comes back.

    The constructor returns when all expected peers are there. Timeouts of methods are in
    milliseconds: None or a negative number waits, 0 looks once. Several threads may use one proxy.
    A proxy that was inherited through ``fork`` raises ``ForkedError``; the child makes its own.

    A component of a job needs no arguments: who it is, and who its peers are, stands in the
    environment that the launcher made.

    Arguments:
        group_name: Only proxies of one group find each other.
        component_type: What this component is, such as "learner".
        expected_peers: How many peers of which types to wait for: a dict or a list of pairs.
        component_name: Unique in the group. From the environment (``COMPONENT_NAME``) if it is
            there, else made up from the type.
        driver_type: One transport for all peers; None chooses the best for each.
        driver_parameters: Options of the transport, such as ``{"protocol": "ipc"}``, and its
            ``send_timeout`` and ``receive_timeout`` in milliseconds.
        redis_address: ``(host, port)`` or a URL of the Redis server where peers find each other.
            None uses a folder on this host.
        initial_redis_connect_retry_interval: Seconds until the first retry; then twice as long.
        max_redis_connect_retries: After so many retries, ``RedisConnectionError``.
        initial_peer_discovery_retry_interval: The same for peers: with the number of retries it
            says how long to wait for them.
        max_peer_discovery_retries: After so many, ``InformationUncompletedError``.
        enable_rejoin: Whether a peer that goes away may come back under its name.
        minimal_peers: So many of each type must be there before anything is sent; a number or a
            dict that names every expected type.
        peers_catch_lifetime: Accepted and ignored: who is there is always known.
        enable_message_cache_for_rejoin: Keeps messages for peers that are away.
        max_length_for_message_cache: So many for each peer; more is ``QueueFullError``.
        timeout_for_minimal_peer_number: Seconds to wait for ``minimal_peers``, then
            ``PeersRejoinTimeout``.
        is_remove_failed_container: Accepted and ignored: for the launcher of jobs.
        max_rejoin_times: How often one peer may come back.

    By keyword also: ``lease`` (seconds of silence after which a peer on another host counts as
    lost), ``linger`` (seconds that ``close`` waits for what was sent), ``send_timeout`` (seconds
    that a send waits for room), ``max_spin`` (seconds that a waiting thread watches memory before
    it sleeps), ``secret``, ``insecure``, ``discovery`` (an address such as "file:/shared/folder"),
    ``peer_bytes``, ``inbox_messages`` and ``inbox_bytes`` (limits of queues), and the older
    ``max_retries``, ``retry_interval_base_value`` and ``log_enable``.
    """

    def __init__(
        self,
        group_name: str | None = None,
        component_type: str | None = None,
        expected_peers: _options.ExpectedPeers | None = None,
        component_name: str | None = None,
        driver_type: DriverType | str | None = None,
        driver_parameters: Mapping[str, Any] | None = None,
        redis_address: tuple[str, int] | str | None = None,
        initial_redis_connect_retry_interval: float = 0.1,
        max_redis_connect_retries: int = 10,
        initial_peer_discovery_retry_interval: float = 0.1,
        max_peer_discovery_retries: int = 10,
        enable_rejoin: bool = False,
        minimal_peers: int | Mapping[str, int] = 1,
        peers_catch_lifetime: float = 10,
        enable_message_cache_for_rejoin: bool = False,
        max_length_for_message_cache: int = 1024,
        timeout_for_minimal_peer_number: float = 300,
        is_remove_failed_container: bool = False,
        max_rejoin_times: int = 5,
        **more: Any,
    ) -> None:
        _options.check_keywords(more, list(Proxy.__init__.__annotations__)[:-2])
        if group_name is None:
            group_name = _options.from_environment("group_name", "MUSTER_GROUP")
        if component_type is None:
            component_type = _options.from_environment("component_type", "COMPONENT_TYPE")
        if expected_peers is None:
            peers = _options.from_environment("expected_peers", "MUSTER_PEERS")
            expected_peers = _options.peers_of_job(peers, component_type)
        _arguments.text("group_name", group_name)
        _arguments.text("component_type", component_type)
        if component_name is not None and component_name != "":
            _arguments.text("component_name", component_name)
        extra = _options.extra_options(more)
        parameters = _options.driver_parameters(driver_parameters)
        driver = DriverType.of(driver_type)
        self._receive_timeout: Timeout = parameters.pop("receive_timeout", None)
        if "send_timeout" in parameters:
            milliseconds = parameters.pop("send_timeout")
            waits = milliseconds is None or milliseconds < 0
            extra["send_timeout"] = 1e9 if waits else milliseconds / 1000
        self._expected = _options.expected_counts(expected_peers)
        self._enable_rejoin = _arguments.flag("enable_rejoin", enable_rejoin)
        self._closed = False
        follow_level()
        self._native = NativeProxy(
            {
                "group": group_name,
                "type": component_type,
                "expected_peers": self._expected,
                "name": component_name or os.environ.get("COMPONENT_NAME", ""),
                "driver": driver.native_name,
                "driver_options": _options.driver_options(driver, parameters),
                "discovery": _options.discovery_address(redis_address, extra.pop("discovery")),
                "store_timeout": _options.retry_seconds(
                    initial_redis_connect_retry_interval=initial_redis_connect_retry_interval,
                    max_redis_connect_retries=max_redis_connect_retries,
                ),
                "join_timeout": _options.retry_seconds(
                    initial_peer_discovery_retry_interval=more.get(
                        "retry_interval_base_value", initial_peer_discovery_retry_interval
                    ),
                    max_peer_discovery_retries=more.get("max_retries", max_peer_discovery_retries),
                ),
                "enable_rejoin": self._enable_rejoin,
                "minimal_peers": _options.minimal_counts(minimal_peers, self._expected),
                "minimal_peers_timeout": _options.seconds(
                    "timeout_for_minimal_peer_number", timeout_for_minimal_peer_number
                ),
                "cache_messages": _arguments.flag(
                    "enable_message_cache_for_rejoin", enable_message_cache_for_rejoin
                ),
                "cache_length": _options.count(
                    "max_length_for_message_cache", max_length_for_message_cache
                ),
                "max_rejoins": _options.count("max_rejoin_times", max_rejoin_times),
                **extra,
            }
        )
        _open_proxies.add(self)

    # Who is there

    @property
    def name(self) -> str:
        """The name of this component, unique in its group."""
        return self._native.name

    @property
    def group_name(self) -> str:
        """The name of the group."""
        return self._native.group_name

    @property
    def component_type(self) -> str:
        """The type of this component."""
        return self._native.component_type

    @property
    def peers(self) -> dict[str, list[str]]:
        """The names of the peers that are there now, by expected type."""
        there = self._native.peers
        return {kind: there.get(kind, []) for kind in self._expected}

    @property
    def peers_name(self) -> dict[str, list[str]]:
        """The same as ``peers``, by its older name."""
        return self.peers

    @property
    def peers_version(self) -> int:
        """Changes whenever a peer comes or goes."""
        return self._native.peers_version

    def get_peers(self, component_type: str = "*") -> list[str]:
        """The names of the peers of one type, or of all."""
        peers = self.peers
        if component_type == "*":
            return [name for names in peers.values() for name in names]
        if component_type not in peers:
            raise PeersMissError(f"no type {component_type!r} is expected; there are {list(peers)}")
        return peers[component_type]

    def get_peer_type(self, peer_name: str) -> str:
        """The type of a peer that is or was there; ``PeersMissError`` for a stranger."""
        kind = self._native.type_of(_arguments.text("peer_name", peer_name))
        if kind is None:
            raise PeersMissError(f"no peer is named {peer_name!r}")
        return kind

    # Receiving

    def receive(
        self, is_continuous: bool | float | None = True, timeout: Timeout = None
    ) -> Iterator[SessionMessage]:
        """Yields messages, until none comes for ``timeout`` milliseconds or the proxy is closed.

        With ``is_continuous=False``, yields at most one. ``receive(100)`` means ``timeout=100``.
        """
        if not isinstance(is_continuous, bool):
            is_continuous, timeout = True, timeout if timeout is not None else is_continuous
        while not self._closed:
            try:
                message = self.receive_once(timeout)
            except ProxyClosedError:
                return
            if message is None:
                return
            yield message
            if not is_continuous:
                return

    def receive_once(self, timeout: Timeout = None) -> SessionMessage | None:
        """The next message that no other call waits for, or None when none came in time."""
        try:
            return self._native.receive_once(self._receive_timeout if timeout is None else timeout)
        except TypeError as error:
            raise explain("receive_once", error, timeout=timeout) from None

    def receive_by_id(
        self, targets: str | Iterable[str] | None, timeout: Timeout = None
    ) -> list[SessionMessage] | None:
        """The messages of one or several sessions, as many of each as it is named.

        Returns fewer when the timeout has passed. Other messages stay for ``receive``.
        """
        if targets is None:
            logger.warning("receive_by_id: no session to wait for (None)")
            return None
        if isinstance(targets, str):
            targets = [targets]
        try:
            return self._settled(*self._native.receive_by_id(targets, timeout))
        except TypeError as error:
            raise explain("receive_by_id", error, targets=targets, timeout=timeout) from None

    # Sending

    def isend(self, message: Message) -> list[str] | None:
        """Sends without waiting for a reply, and returns the session ids to wait for.

        These are the message's own and, before it, those of messages that were kept for the peer
        while it was away and went out with this one. None when the peer is away now and the message
        was kept for it.
        """
        try:
            return self._native.isend(single(message))
        except TypeError as error:
            raise explain("isend", error, message=single(message)) from None

    def send(self, message: Message, timeout: Timeout = None) -> list[SessionMessage]:
        """Sends and waits for the reply; a list, because kept messages may be answered with it."""
        try:
            return self._settled(*self._native.send(single(message), timeout))
        except TypeError as error:
            raise explain("send", error, message=single(message), timeout=timeout) from None

    def iscatter(
        self,
        tag: Tag,
        session_type: SessionType,
        destination_body_list: DestinationBodies | None = None,
        *,
        destination_payload_list: DestinationBodies | None = None,
    ) -> list[str]:
        """Sends a body of its own to each destination, and returns the session ids.

        ``destination_body_list`` holds pairs ``(destination, body)``; its older name is
        ``destination_payload_list``.
        """
        pairs = _either("destination", destination_body_list, destination_payload_list)
        try:
            return self._native.iscatter(tag, session_type, pairs)
        except TypeError as error:
            raise explain("iscatter", error, tag=tag, destination_body_list=pairs) from None

    def scatter(
        self,
        tag: Tag,
        session_type: SessionType,
        destination_body_list: DestinationBodies | None = None,
        timeout: Timeout = -1,
        *,
        destination_payload_list: DestinationBodies | None = None,
    ) -> list[SessionMessage]:
        """Like ``iscatter``, and waits for the replies."""
        pairs = _either("destination", destination_body_list, destination_payload_list)
        try:
            return self._settled(*self._native.scatter(tag, session_type, pairs, timeout))
        except TypeError as error:
            raise explain(
                "scatter", error, tag=tag, destination_body_list=pairs, timeout=timeout
            ) from None

    def ibroadcast(
        self,
        component_type: str,
        tag: Tag,
        session_type: SessionType,
        body: Any = None,
        *,
        payload: Any = None,
    ) -> list[str]:
        """Sends one message to all peers of a type; its session id is returned once for each."""
        content = _content(body, payload)
        try:
            return self._native.ibroadcast(component_type, tag, session_type, content)
        except TypeError as error:
            raise explain("ibroadcast", error, component_type=component_type, tag=tag) from None

    def broadcast(
        self,
        component_type: str,
        tag: Tag,
        session_type: SessionType,
        body: Any = None,
        timeout: Timeout = None,
        *,
        payload: Any = None,
    ) -> list[SessionMessage]:
        """Like ``ibroadcast``, and waits for the replies."""
        content = _content(body, payload)
        try:
            return self._settled(
                *self._native.broadcast(component_type, tag, session_type, content, timeout)
            )
        except TypeError as error:
            raise explain(
                "broadcast", error, component_type=component_type, tag=tag, timeout=timeout
            ) from None

    def reply(
        self,
        message: Message | None = None,
        tag: Tag | None = None,
        body: Any = None,
        ack_reply: bool = False,
        *,
        payload: Any = None,
        received_message: Message | None = None,
    ) -> list[str] | None:
        """Answers a message in its session; with ``ack_reply``, only says that it arrived.

        Turns ``message`` into the answer. Without a tag its tag is kept; without a body the answer
        carries None. ``SessionClosedError`` when the session has been answered already.
        ``received_message`` is an older name of ``message``.
        """
        content = body if payload is None else payload
        request = message if received_message is None else received_message
        try:
            return self._native.reply(single(request), tag, content, ack_reply)
        except TypeError as error:
            raise explain("reply", error, message=single(request), ack_reply=ack_reply) from None

    def forward(
        self,
        message: Message | None = None,
        destination: str = "",
        tag: Tag | None = None,
        body: Any = None,
        *,
        payload: Any = None,
        received_message: Message | None = None,
    ) -> list[str] | None:
        """Passes a message on within its session. Without a tag or a body, its own are kept."""
        content = body if payload is None else payload
        request = message if received_message is None else received_message
        try:
            return self._native.forward(single(request), destination, tag, content)
        except TypeError as error:
            raise explain(
                "forward", error, message=single(request), destination=destination
            ) from None

    def empty(
        self, shape: int | tuple[int, ...], dtype: Any = float
    ) -> np.ndarray[Any, np.dtype[Any]]:
        """An array to be filled and sent: on this host it is handed over without a copy.

        Sending it makes it read-only.
        """
        try:
            sizes = (operator.index(shape),) if np.isscalar(shape) else tuple(shape)  # type: ignore
            elements = math.prod(operator.index(size) for size in sizes)
        except TypeError:
            raise TypeError(f"shape is a number or a tuple of numbers, not {shape!r}") from None
        if any(size < 0 for size in sizes):
            raise ValueError(f"shape is {shape!r}; no size can be negative")
        element = np.dtype(dtype)
        if element.hasobject:
            raise TypeError(f"an array of {element} cannot be shared between processes")
        if elements * element.itemsize >= 2**63:
            raise MemoryError(f"an array of shape {shape!r} and {element} fits into no memory")
        return self._native.empty(sizes, element, elements * element.itemsize)

    # The end

    def close(self) -> None:
        """Leaves the group, and waits up to the linger time until what was sent has arrived.

        Calls that wait in other threads end with ``ProxyClosedError``. May be called again.
        """
        self._closed = True
        self._native.close()

    @property
    def closed(self) -> bool:
        """True after ``close``."""
        return self._closed

    @property
    def counters(self) -> dict[str, int]:
        """Counts since the proxy joined: sent, received, rejoins, and what was dropped."""
        return self._native.counters()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"peers={self.peers}"
        return (
            f"<Proxy {self.name!r} of type {self.component_type!r} "
            f"in group {self.group_name!r}, {state}>"
        )

    def _settled(self, replies: list[SessionMessage], lost: list[str]) -> list[SessionMessage]:
        if not lost:
            return replies
        text = f"{len(lost)} replies will not come: lost {', '.join(sorted(set(lost)))}"
        if not self._enable_rejoin:
            raise PeersConnectionError(text, replies)
        logger.warning("%s", text)
        return replies


def _either(
    name: str, body: DestinationBodies | None, payload: DestinationBodies | None
) -> DestinationBodies:
    if (body is None) == (payload is None):
        raise TypeError(f"give {name}_body_list or {name}_payload_list")
    return body if body is not None else payload  # type: ignore[return-value]


def _content(body: Any, payload: Any) -> Any:
    """What a message that is made from these carries: without any, ``{}``."""
    given = body if payload is None else payload
    return {} if given is None else given


@atexit.register
def _close_all() -> None:
    for proxy in list(_open_proxies):
        proxy.close()


__all__ = ["Proxy"]
