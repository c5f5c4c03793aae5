"""What a transport offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from muster.communication.message import Message


class AbsDriver(ABC):
    """The interface of a transport that is used without a proxy."""

    @property
    @abstractmethod
    def address(self) -> Any:
        """What ``connect`` of another driver takes."""

    @abstractmethod
    def connect(self, peers_address: Mapping[str, Any]) -> None:
        """Connects peers: ``{name: address}``."""

    @abstractmethod
    def receive(self, timeout: float | None = None) -> Iterator[Message]:
        """Yields messages until none comes for ``timeout`` milliseconds."""

    @abstractmethod
    def send(self, message: Message) -> None:
        """Sends a message to the peer that it names."""

    @abstractmethod
    def broadcast(self, topic: str, message: Message) -> None:
        """Sends a message to all connected peers of the type ``topic``."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of sockets and memory."""

    def disconnect(self, peers_address: Mapping[str, Any]) -> None:
        """Disconnects the peers that are named."""
        raise NotImplementedError

    def receive_once(self, timeout: float | None = None) -> Message | None:
        """The next message, or None when none came in time."""
        return next(iter(self.receive(timeout)), None)


__all__ = ["AbsDriver"]
