"""Tensors put together: concatenate, stack, block and their like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from muster.tensor._call import apply, as_tensor
from muster.tensor._shape import atleast_1d, atleast_2d, atleast_3d, ravel
from muster.tensor._tensor import Tensor

__all__ = [
    "append",
    "block",
    "column_stack",
    "concatenate",
    "dstack",
    "hstack",
    "stack",
    "vstack",
]


def _parts(arrays: Any) -> list[Tensor]:
    if isinstance(arrays, Tensor):
        return list(arrays)
    return [as_tensor(each) for each in arrays]


def _dtype(dtype: Any) -> Any:
    return None if dtype is None else np.dtype(dtype)


def concatenate(arrays: Sequence[Any], axis: int | None = 0, dtype: Any = None) -> Tensor:
    """Tensors one after the other along an axis; all flattened without one."""
    parts = _parts(arrays)
    if axis is None:
        parts, axis = [ravel(each) for each in parts], 0
    return apply("concatenate", parts, axis=axis, dtype=_dtype(dtype))


def stack(arrays: Sequence[Any], axis: int = 0, dtype: Any = None) -> Tensor:
    """Tensors of one shape side by side along a new axis."""
    return apply("stack", _parts(arrays), axis=axis, dtype=_dtype(dtype))


def hstack(tup: Sequence[Any], dtype: Any = None) -> Tensor:
    """Tensors one after the other along the second axis, or the only one."""
    parts = [atleast_1d(each) for each in _parts(tup)]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype)


def vstack(tup: Sequence[Any], dtype: Any = None) -> Tensor:
    """Tensors as rows, one below the other."""
    return concatenate([atleast_2d(each) for each in _parts(tup)], 0, dtype)


def dstack(tup: Sequence[Any]) -> Tensor:
    """Tensors one behind the other along the third axis."""
    return concatenate([atleast_3d(each) for each in _parts(tup)], 2)


def column_stack(tup: Sequence[Any]) -> Tensor:
    """Vectors as columns side by side, matrices as they are."""
    columns = []
    for each in _parts(tup):
        columns.append(atleast_2d(each).T if each.ndim < 2 else each)
    return concatenate(columns, 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """The values behind the items of an axis, or of both flattened."""
    return concatenate([as_tensor(arr), as_tensor(values)], axis)


def block(arrays: Any) -> Tensor:
    """A tensor of blocks in nested lists: the innermost are joined along the last axis."""
    depth = _depth(arrays)
    ndim = max(depth, _most_axes(arrays))
    return _block(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        if isinstance(arrays, tuple):
            raise TypeError("[block] only lists can be nested, not tuples")
        return 0
    if not arrays:
        raise ValueError("[block] lists must not be empty")
    depths = {_depth(each) for each in arrays}
    if len(depths) > 1:
        raise ValueError("[block] the lists are nested to different depths")
    return 1 + depths.pop()


def _most_axes(arrays: Any) -> int:
    if isinstance(arrays, list):
        return max(_most_axes(each) for each in arrays)
    return as_tensor(arrays).ndim


def _block(arrays: Any, depth: int, ndim: int) -> Tensor:
    if depth == 0:
        tensor = as_tensor(arrays)
        missing = ndim - tensor.ndim
        return apply("expand_dims", [tensor], axis=list(range(missing))) if missing else tensor
    parts = [_block(each, depth - 1, ndim) for each in arrays]
    return apply("concatenate", parts, axis=ndim - depth)
