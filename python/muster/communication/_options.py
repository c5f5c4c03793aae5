"""From the arguments of ``Proxy`` to the options of the C++ library."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Union

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


def retry_seconds(interval: float, retries: int) -> float:
    """How long retries whose interval doubles each time take together."""
    if interval < 0 or retries < 0:
        raise ValueError(f"a retry interval of {interval} s and {retries} retries are not possible")
    return min(interval * (2.0 ** min(retries, 60) - 1), _LONGEST_SECONDS)


def seconds(name: str, value: Any) -> float:
    """A time in seconds, at most so long that it means "as long as it takes"."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is a number of seconds, not {value!r}")
    if not value >= 0:
        raise ValueError(f"{name} is a number of seconds, not {value!r}")
    return min(float(value), _LONGEST_SECONDS)


def count(name: str, value: Any) -> int:
    """A number of things."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is a number, not {value!r}")
    if not 0 <= value < 2**63:
        raise ValueError(f"{name} cannot be {value!r}")
    return value


def extra_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that only this library has, checked; defaults for those that are not given."""
    options = {}
    for name, default in EXTRA_OPTIONS.items():
        value = given.get(name)
        if value is None:
            options[name] = default
        elif isinstance(default, float):
            options[name] = seconds(name, value)
        elif isinstance(default, int) and not isinstance(default, bool):
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
    return {kind: max(minimal_peers[kind], 1) for kind in types}


def discovery_address(redis_address: Any, discovery: Any) -> str:
    """Where peers find each other, as the library names it; empty for the default file store."""
    if redis_address is not None and discovery is not None:
        raise TypeError("give redis_address or discovery, not both")
    if discovery is not None:
        return str(discovery)
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


def driver_options(driver_type: DriverType, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Options of drivers as the library names them: ``{"zmq.protocol": "ipc"}``."""
    prefix = "zmq" if driver_type is DriverType.AUTO else driver_type.native_name
    return {
        key if "." in key else f"{prefix}.{key}": _option_text(value)
        for key, value in parameters.items()
    }


def _option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
