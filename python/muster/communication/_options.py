"""From the arguments of ``Proxy`` to the options of the C++ library."""

from __future__ import annotations

import difflib
import numbers
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from muster.communication._arguments import flag, mapping, number, text
from muster.communication.driver.driver_type import DriverType
from muster.communication.exceptions import PeersMissError

# Beyond this, a sum of retry intervals means "as long as it takes".
_LONGEST_SECONDS = 1e9

ExpectedPeers = Union[Mapping[str, int], Iterable[tuple[str, int]]]

# Ours, with their defaults; all times in seconds.
EXTRA_OPTIONS: dict[str, Any] = {
    "lease": 3.0,
    "linger": 2.0,
    "send_timeout": 60.0,
    "max_spin": 50e-6,
    "secret": "",
    "insecure": False,
    "discovery": None,
    "peer_bytes": 64 << 20,
    "inbox_messages": 65536,
    "inbox_bytes": 256 << 20,
}
# Of older versions of the predecessor.
OLDER_OPTIONS = ("max_retries", "retry_interval_base_value", "log_enable")


def retry_seconds(**named: Any) -> float:
    """How long retries take together whose interval, the first argument, doubles each time."""
    (interval_name, interval), (retries_name, retries) = named.items()
    first = seconds(interval_name, interval)
    return min(first * (2.0 ** min(count(retries_name, retries), 60) - 1), _LONGEST_SECONDS)


def seconds(name: str, value: Any) -> float:
    """A time in seconds, at most so long that it means "as long as it takes"."""
    if number(name, value, "seconds") < 0:
        raise ValueError(f"{name} is a number of seconds, not {value!r}")
    return min(float(value), _LONGEST_SECONDS)


def count(name: str, value: Any) -> int:
    """A number of things."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    whole = int(value)
    if not 0 <= whole < 2**63:
        raise ValueError(f"{name} cannot be {value!r}; it is a whole number from 0")
    return whole


def extra_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that only this library has, checked; defaults for those that are not given."""
    options = {}
    for name, default in EXTRA_OPTIONS.items():
        value = given.get(name)
        if value is None:
            options[name] = default
        elif isinstance(default, bool):
            options[name] = flag(name, value)
        elif isinstance(default, float):
            options[name] = seconds(name, value)
        elif isinstance(default, int):
            options[name] = count(name, value)
        elif isinstance(default, str) and not isinstance(value, str):
            raise TypeError(f"{name} is a str, not {type(value).__name__}")  # it may be a secret
        else:
            options[name] = value
    return options


def check_keywords(given: Mapping[str, Any], named: Iterable[str]) -> None:
    """Raises TypeError for a keyword that ``Proxy`` does not have, with the one that is meant."""
    known = [*named, *EXTRA_OPTIONS, *OLDER_OPTIONS]
    for keyword in given:
        if keyword in known:
            continue
        close = difflib.get_close_matches(keyword, known, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise TypeError(f"Proxy() got an unexpected keyword argument {keyword!r}{hint}")


def expected_counts(expected_peers: ExpectedPeers) -> dict[str, int]:
    """The number of expected peers by type, from a dict or a list of pairs."""
    if isinstance(expected_peers, (str, bytes)) or not isinstance(expected_peers, Iterable):
        raise TypeError(f"expected_peers is a dict {{type: count}}, not {expected_peers!r}")
    try:
        counts = dict(expected_peers)
    except (TypeError, ValueError):
        raise TypeError(
            f"expected_peers is a dict {{type: count}}, not {expected_peers!r}"
        ) from None
    for kind, count in counts.items():
        if not isinstance(kind, str) or isinstance(count, bool) or not isinstance(count, int):
            raise TypeError(f"expected_peers: {kind!r}: {count!r} is not a type and a count")
        if count < 0:
            raise ValueError(f"expected_peers: {count} peers of type {kind!r} are not possible")
    if not counts or all(count == 0 for count in counts.values()):
        raise PeersMissError(
            f"expected_peers is {expected_peers!r}; name at least one type and count"
        )
    return counts


def from_environment(argument: str, variable: str) -> str:
    """What a launcher said; TypeError if there is no launcher and no argument."""
    value = os.environ.get(variable)
    if value is None:
        raise TypeError(f"Proxy() needs {argument}, since no launcher set {variable}")
    return value


def peers_of_job(text: str, own_type: str) -> dict[str, int]:
    """The peers of a component from ``learner:1,actor:4``: all other types, or its own kind."""
    try:
        pairs = [pair.rpartition(":") for pair in text.split(",")]
        counts = {kind: int(count) for kind, _, count in pairs}
    except ValueError:
        raise ValueError(f"MUSTER_PEERS is {text!r}, not like 'learner:1,actor:4'") from None
    others = {kind: count for kind, count in counts.items() if kind != own_type}
    return others or {own_type: counts.get(own_type, 1) - 1}


def minimal_counts(minimal_peers: int | Mapping[str, int], types: Iterable[str]) -> dict[str, int]:
    """The least number of peers by type, at least one of each."""
    if isinstance(minimal_peers, bool) or not isinstance(minimal_peers, (int, Mapping)):
        raise TypeError(
            f"minimal_peers is a number or a dict {{type: number}}, not {minimal_peers!r}"
        )
    if isinstance(minimal_peers, int):
        return {kind: max(minimal_peers, 1) for kind in types}
    missing = [kind for kind in types if kind not in minimal_peers]
    if missing:
        raise ValueError(
            f"minimal_peers must name every expected type; {', '.join(missing)} is missing"
        )
    return {kind: max(count(f"minimal_peers[{kind!r}]", minimal_peers[kind]), 1) for kind in types}


def discovery_address(redis_address: Any, discovery: Any) -> str:
    """Where peers find each other, as the library names it; empty for the default file store."""
    if redis_address is not None and discovery is not None:
        raise TypeError("give redis_address or discovery, not both")
    if discovery is not None:
        if not isinstance(discovery, (str, os.PathLike)):
            raise TypeError(
                f"discovery is an address, 'file:/folder' or 'redis://host', not {discovery!r}"
            )
        return os.fspath(discovery)
    if redis_address is None:
        return ""
    if isinstance(redis_address, str):
        has_scheme = "://" in redis_address or redis_address.startswith("file:")
        return redis_address if has_scheme else f"redis://{redis_address}"
    try:
        host, port = redis_address
    except (TypeError, ValueError):
        raise TypeError(f"redis_address is (host, port) or a URL, not {redis_address!r}") from None
    host = f"[{host}]" if ":" in str(host) else host
    return f"redis://{host}:{port}"


def driver_parameters(given: Any) -> dict[str, Any]:
    """The parameters of a driver, checked as far as all drivers have them in common."""
    parameters = dict(mapping("driver_parameters", {} if given is None else given, "{name: value}"))
    for name in parameters:
        text("a name in driver_parameters", name)
    for name in ("send_timeout", "receive_timeout"):
        if parameters.get(name) is not None:
            number(f"driver_parameters[{name!r}]", parameters[name], "milliseconds or None")
    parameters.pop("logger", None)
    return parameters


def driver_options(driver_type: DriverType, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Options of drivers as the library names them: ``{"zmq.protocol": "ipc"}``."""
    prefix = "zmq" if driver_type is DriverType.AUTO else driver_type.native_name
    return {
        key if "." in key else f"{prefix}.{key}": _option_text(value)
        for key, value in parameters.items()
    }


def _option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
