"""A bar for executions that take long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Executions that are over sooner show nothing.
_PATIENCE = 1.0
_PERIOD = 0.2
_WIDTH = 30


def _is_wanted(show: bool | str) -> bool:
    if show not in (True, False, "auto"):
        raise ValueError(f"show_progress is {show!r}, but must be True, False or 'auto'")
    if show == "auto":
        return "ipykernel" in sys.modules or sys.stderr.isatty()
    return bool(show)


def _size(count: int) -> str:
    """Bytes for people: 3.2 MiB."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def _time(seconds: float) -> str:
    """Seconds for people: 12.3 s, 4:05 min, 1:02:03 h."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02} h"


def line(done: int, tasks: int, seconds: float, made: int = 0, rate: float = 0.0) -> str:
    """The bar as text: tasks, the bytes that they made, and the time that is left at `rate` tasks
    per second."""
    share = done / tasks if tasks else 0.0
    filled = int(share * _WIDTH)
    bar = "#" * filled + "-" * (_WIDTH - filled)
    text = f"{100 * share:3.0f} % |{bar}| {done}/{tasks} tasks"
    if made:
        text += f", {_size(made)}"
    text += f", {_time(seconds)}"
    if rate > 0 and 0 < done < tasks:
        text += f", {_time((tasks - done) / rate)} left"
    return text


class _Rate:
    """Tasks per second, recent ones counting more; a dip (tasks that were lost) begins anew."""

    def __init__(self) -> None:
        self._at = 0.0
        self._done = 0
        self.value = 0.0

    def add(self, seconds: float, done: int) -> float:
        passed = seconds - self._at
        if done < self._done or passed <= 0:
            self._at, self._done = seconds, done
            return self.value
        now = (done - self._done) / passed
        self.value = now if self.value == 0.0 else 0.8 * self.value + 0.2 * now
        self._at, self._done = seconds, done
        return self.value


def _watch(control: Any, over: threading.Event) -> None:
    began = time.monotonic()
    if over.wait(_PATIENCE):
        return
    rate, width = _Rate(), 0
    while True:
        ended = over.wait(_PERIOD)
        done, seconds = control.done, time.monotonic() - began
        text = line(done, control.tasks, seconds, control.bytes, rate.add(seconds, done))
        width = max(width, len(text))
        sys.stderr.write("\r" + text.ljust(width) + ("\n" if ended else ""))
        sys.stderr.flush()
        if ended:
            return


@contextmanager
def shown_progress(control: Any, show: bool | str) -> Iterator[None]:
    """Shows how far an execution has come while it runs."""
    if not _is_wanted(show):
        yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(control, over), name="muster-progress")
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
