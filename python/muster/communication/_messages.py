"""The list of messages that an event handler gets."""

from __future__ import annotations

from typing import Any

from muster._core import Message


class Messages(list[Message]):
    """The messages of one event. With a single one, it can be used like that message itself."""

    def __getattr__(self, name: str) -> Any:
        if len(self) == 1 and not name.startswith("__"):
            return getattr(self[0], name)
        raise AttributeError(
            f"{len(self)} messages have no attribute {name!r}; look at each of them"
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if len(self) != 1:
            raise AttributeError(f"{len(self)} messages have no attribute {name!r}")
        setattr(self[0], name, value)


def single(message: Any) -> Message:
    """The message itself, where a handler passes on what it got."""
    if isinstance(message, Messages):
        if len(message) != 1:
            raise TypeError(f"expected one message, not {len(message)}; pass each of them")
        return message[0]
    return message  # type: ignore[no-any-return]


__all__ = ["Messages", "single"]
