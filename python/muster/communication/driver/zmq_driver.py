"""ZeroMQ, without a proxy."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from muster._core import Endpoint, Message, SessionMessage
from muster.communication import _logging  # noqa: F401  (log lines go to Python's logging)
from muster.communication._arguments import explain, iterable, mapping, text
from muster.communication._arguments import timeout as check_timeout
from muster.communication.driver.abs_driver import AbsDriver
from muster.communication.exceptions import ProxyClosedError


class ZmqDriver(AbsDriver):
    """Moves messages over ZeroMQ between programs that know each other's addresses.

    Arguments:
        component_type: The type of this component: the topic of broadcasts to it.
        protocol: "tcp", or "ipc" on one host.
        send_timeout: Milliseconds that a send waits for room; -1 waits as long as it takes.
        receive_timeout: The same for a receive without a timeout of its own.
        logger: Accepted and ignored: lines go to ``logging.getLogger("muster")``.
    """

    def __init__(
        self,
        component_type: str,
        protocol: str = "tcp",
        send_timeout: float = -1,
        receive_timeout: float = -1,
        logger: logging.Logger | None = None,
    ) -> None:
        text("component_type", component_type)
        check_timeout("send_timeout", send_timeout)
        check_timeout("receive_timeout", receive_timeout)
        options = {"zmq.protocol": text("protocol", protocol)}
        self._endpoint = Endpoint(component_type, "zmq", options, send_timeout)
        self._receive_timeout = receive_timeout

    @property
    def address(self) -> str:
        """What ``connect`` of another driver takes."""
        return self._endpoint.address

    def connect(self, peers_address: Mapping[str, str]) -> None:
        """Connects peers: ``{name: address}``. Messages are sent to them by these names."""
        for peer, address in mapping("peers_address", peers_address, "{name: address}").items():
            name = text("a name in peers_address", peer)
            self._endpoint.connect(name, text(f"the address of {peer!r}", address))

    def disconnect(self, peers_address: Mapping[str, Any] | Iterable[str]) -> None:
        """Disconnects the peers that are named; sending to them is ``PendingToSend``."""
        iterable("peers_address", peers_address)
        for peer in [peers_address] if isinstance(peers_address, str) else list(peers_address):
            self._endpoint.disconnect(text("a name in peers_address", peer))

    def send(self, message: Message) -> None:
        """Sends a message to the connected peer that is its destination."""
        self._endpoint.send(message)

    def broadcast(self, topic: str, message: Message) -> None:
        """Sends a message to all connected peers of the type ``topic``."""
        self._endpoint.broadcast(text("topic", topic), message)

    def receive(self, timeout: float | None = None) -> Iterator[SessionMessage]:
        """Yields messages until none comes for ``timeout`` milliseconds or the driver is closed."""
        while True:
            try:
                message = self.receive_once(timeout)
            except ProxyClosedError:
                return
            if message is None:
                return
            yield message

    def receive_once(self, timeout: float | None = None) -> SessionMessage | None:
        """The next message, or None when none came in time."""
        try:
            return self._endpoint.receive_once(
                self._receive_timeout if timeout is None else timeout
            )
        except TypeError as error:
            raise explain("receive_once", error, timeout=timeout) from None

    def close(self) -> None:
        """Lets go of sockets and memory. May be called again."""
        self._endpoint.close()


__all__ = ["ZmqDriver"]
