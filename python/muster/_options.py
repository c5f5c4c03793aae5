"""How expressions are cut and run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Options:
    """Settings for all sessions of this program; attributes, so that a misspelt one is an error."""

    __slots__ = (
        "chunk_store_limit",
        "combine_size",
        "disabled_passes",
        "eager_mode",
        "rechunk_chunk_size_limit",
        "rechunk_threshold",
        "show_progress",
    )

    def __init__(self) -> None:
        #: Chunks are made about this many bytes large unless `chunk_size` says otherwise.
        self.chunk_store_limit = 128 * 2**20
        #: How many partial results a reduction joins at a time.
        self.combine_size = 4
        #: Passes of the optimiser that are left out, by name.
        self.disabled_passes: set[str] = set()
        #: Every operator is executed at once.
        self.eager_mode = False
        self.rechunk_chunk_size_limit = 100_000_000
        self.rechunk_threshold = 4
        #: A bar for long executions: True, False, or "auto" (in terminals and notebooks).
        self.show_progress: bool | str = "auto"

    def for_engine(self) -> dict[str, Any]:
        names = ("chunk_store_limit", "combine_size", "rechunk_chunk_size_limit")
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        values["rechunk_threshold"] = self.rechunk_threshold
        values["disabled_passes"] = sorted(self.disabled_passes)
        return values


options = Options()


@contextmanager
def option_context(**changes: Any) -> Iterator[Options]:
    """Settings that hold within a `with` block: `with option_context(eager_mode=True): ...`."""
    before = {name: getattr(options, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(options, name, value)
        yield options
    finally:
        for name, value in before.items():
            setattr(options, name, value)
