"""Components that tests run in processes or threads of their own."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

import muster
from muster.communication import Proxy

# Far more than any test needs; only a test that fails waits so long.
PATIENCE = 30_000


needs_ucx = pytest.mark.skipif(
    not (Path(muster._core.__file__).parent / "libmuster_ucx.so").exists(),
    reason="built without libucx",
)


class Tag(Enum):
    WORK = "work"
    STOP = "stop"
    NUMBER = 7


def join_all(*options: dict[str, Any]) -> list[Proxy]:
    """Makes proxies that wait for each other."""
    with ThreadPoolExecutor(len(options)) as pool:
        return [future.result() for future in [pool.submit(Proxy, **each) for each in options]]


def echo(group: str, name: str | None = None, **options: Any) -> None:
    """Answers every message with its own body, until one is tagged "stop"."""
    with Proxy(group, "worker", {"master": 1}, component_name=name, **options) as proxy:
        for message in proxy.receive():
            if message.tag == "stop":
                return
            proxy.reply(message, tag="echo", body=message.body)


def report_pid(group: str, name: str | None = None, **options: Any) -> None:
    """Answers "pid" with its process id; every other request waits for ever."""
    proxy = Proxy(group, "worker", {"master": 1}, component_name=name, **options)
    for message in proxy.receive():
        if message.tag == "stop":
            return
        if message.tag == "pid":
            proxy.reply(message, body=os.getpid())


def enum_echo(group: str) -> None:
    """Answers a message only if its tag is the very member that was sent."""
    with Proxy(group, "worker", {"master": 1}) as proxy:
        for message in proxy.receive():
            if message.tag is Tag.STOP:
                return
            assert message.tag is Tag.WORK, message.tag
            proxy.reply(message, tag=Tag.NUMBER)


def in_thread(function: Any, *args: Any, **kwargs: Any) -> threading.Thread:
    thread = threading.Thread(target=function, args=args, kwargs=kwargs, daemon=True)
    thread.start()
    return thread
