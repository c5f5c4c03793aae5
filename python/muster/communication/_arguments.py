"""What is wrong with the arguments of a call, in words."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from muster._core import Message


def text(name: str, value: Any) -> str:
    """A str that is not empty and can be sent."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is a str, not {value!r}")
    if not value:
        raise ValueError(f"{name} is empty")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} is not text that can be sent: {error}") from None
    return value


def number(name: str, value: Any, unit: str) -> float:
    """A number of something, and not a text that looks like one."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is a number of {unit}, not {value!r}")
    if math.isnan(value):
        raise ValueError(f"{name} is a number of {unit}, not {value!r}")
    return float(value)


def timeout(name: str, value: Any) -> None:
    """Milliseconds, or None."""
    if value is not None and not isinstance(value, bool):
        number(name, value, "milliseconds or None")


def flag(name: str, value: Any) -> bool:
    """True or False, or what counts as such, but no text: "no" would be True."""
    if value is None or isinstance(value, (str, bytes)):
        raise TypeError(f"{name} is True or False, not {value!r}")
    return bool(value)


def mapping(name: str, value: Any, form: str) -> Mapping[Any, Any]:
    """A dict of a certain form."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is a dict {form}, not {value!r}")
    return value


def message(name: str, value: Any) -> None:
    """A message."""
    if not isinstance(value, Message):
        raise TypeError(f"{name} is a Message, not {value!r}")


def tag(name: str, value: Any) -> None:
    """What a message is about."""
    if not isinstance(value, (str, Enum)):
        raise TypeError(f"{name} is a str or a member of an Enum, not {value!r}")


def iterable(name: str, value: Any) -> None:
    """Several things of what is asked for."""
    if not isinstance(value, Iterable):
        raise TypeError(f"{name} is a list, not {value!r}")


def targets(name: str, value: Any) -> None:
    """Session ids."""
    if not isinstance(value, Iterable):
        raise TypeError(f"{name} is a session id or a list of them, not {value!r}")


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "ack_reply": flag,
    "component_type": text,
    "destination": text,
    "destination_body_list": iterable,
    "message": message,
    "peer_name": text,
    "tag": tag,
    "targets": targets,
    "timeout": timeout,
}


def explain(call: str, error: Exception, **arguments: Any) -> Exception:
    """What is wrong with an argument of a call that the library refused; else the error itself."""
    for name, value in arguments.items():
        try:
            _CHECKS[name](name, value)
        except (TypeError, ValueError) as found:
            return type(found)(f"{call}: {found}")
    return error
