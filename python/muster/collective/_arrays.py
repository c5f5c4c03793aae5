"""Where results go when the caller gives no array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from muster._core import describe_array


def _is_tensor(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "torch"


def empty_like(data: Any, shape: Sequence[int], what: str) -> Any:
    """A new array of that shape, of the kind and dtype of ``data``."""
    if _is_tensor(data):
        return data.new_empty(tuple(shape))
    dtype, _ = describe_array(data, what)
    return np.empty(tuple(shape), dtype)


def shape_of(data: Any, what: str) -> tuple[int, ...]:
    """The shape as the library sees it."""
    return describe_array(data, what)[1]


def many(data: Any, blocks: int, counts: Sequence[int] | None, what: str) -> Any:
    """Room for the blocks of all ranks, of which ``data`` is one."""
    if counts is not None:
        return empty_like(data, (max(sum(counts), 0),), what)  # wrong counts are refused later
    return empty_like(data, (blocks, *shape_of(data, what)), what)


def one(data: Any, blocks: int, count: int | None, what: str) -> Any:
    """Room for one of the blocks that ``data`` holds, in rows where they can be shared out."""
    if count is not None:
        return empty_like(data, (max(count, 0),), what)
    shape = shape_of(data, what)
    if shape and shape[0] % blocks == 0:
        rows = shape[0] // blocks
        return empty_like(
            data, shape[1:] if rows == 1 and len(shape) > 1 else (rows, *shape[1:]), what
        )
    return empty_like(data, (math.prod(shape) // blocks,), what)
