"""What is wrong with the arguments of a call, in words."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from muster.communication import _options
from muster.communication._arguments import flag, mapping, text

_INTEGER = range(-(2**31), 2**31)
_BITS = range(2**64)
# More than memory holds, and so few that sums of them do not overflow.
_ITEMS = range(2**48)


def explain(operation: str, error: TypeError, **given: Any) -> TypeError | ValueError:
    """The error that names the argument which the library could not take; the same error if there
    is none. So right arguments cost nothing.

    ``timeout`` is a number or None, ``data`` and ``out`` are arrays, all others are whole numbers.
    """
    for name, value in given.items():
        if name in ("data", "out"):
            if value is None:
                return TypeError(f"[{operation}] {name} is missing")
            continue
        if name == "timeout":
            if value is not None and not isinstance(value, numbers.Real):
                form = "a number of seconds or None"
                return TypeError(f"[{operation}] timeout is {form}, not {value!r}")
        elif not isinstance(value, numbers.Integral):
            return TypeError(f"[{operation}] {name} is a whole number, not {value!r}")
        elif int(value) not in (_BITS if name == "bits" else _INTEGER):
            form = "of 64 bits, from 0 to 2**64 - 1" if name == "bits" else "of 32 bits"
            return ValueError(f"[{operation}] {name} is a number {form}, not {value!r}")
    return error


def counts(operation: str, name: str, given: Iterable[int] | None, size: int) -> list[int] | None:
    """How many items each rank's block has, checked; None when they do not differ."""
    if given is None:
        return None
    try:
        numbers_ = [operator.index(count) for count in given]
    except TypeError:
        raise TypeError(f"[{operation}] {name} is a list of whole numbers, not {given!r}") from None
    if len(numbers_) != size:
        raise ValueError(
            f"[{operation}] {name} has {len(numbers_)} entries, and the group {size} ranks"
        )
    for count in numbers_:
        if count not in _ITEMS:
            raise ValueError(
                f"[{operation}] {name} holds {count}; a block has from 0 to 2**48 - 1 items"
            )
    return numbers_


def shape(given: Any) -> tuple[int, ...]:
    """The extents of an array, as NumPy takes them."""
    try:
        return (operator.index(given),)
    except TypeError:
        pass
    try:
        extents = tuple(operator.index(extent) for extent in given)
    except TypeError:
        raise TypeError(f"[empty] shape is a whole number or several, not {given!r}") from None
    return extents


def members(name: str, size: int, rank: int | None) -> None:
    """Who comes together."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"name is a text that the ranks share, not {name!r}")
    text("name", name)
    if not 1 <= _options.count("size", size) < 2**31:
        raise ValueError(f"size is {size}; a group has at least one rank, and less than 2**31")
    if rank is not None and not 0 <= _options.count("rank", rank) < size:
        raise ValueError(f"rank is {rank}, and a group of {size} has the ranks 0 to {size - 1}")


def _text(name: str, value: Any) -> str:
    return value if value == "" else text(name, value)


def _secret(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is a str, not {type(value).__name__}")  # not shown
    return value


def _driver_options(name: str, value: Any) -> dict[str, str]:
    given: Mapping[Any, Any] = {} if value is None else mapping(name, value, "{option: value}")
    return {text(f"an option in {name}", key): str(option) for key, option in given.items()}


_JOIN_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "member": _text,
    "discovery": _text,
    "driver": text,
    "driver_options": _driver_options,
    "secret": _secret,
    "insecure": flag,
    "join_timeout": _options.seconds,
    "lease": _options.seconds,
    "plane": text,
    "minority_may_shrink": flag,
}


def join_options(**given: Any) -> dict[str, Any]:
    """What ``join`` and ``from_environment`` take, as the library takes it."""
    return {name: _JOIN_CHECKS[name](name, value) for name, value in given.items()}
