"""Tensors written with brackets: mgrid, ogrid, r_ and c_."""

from __future__ import annotations

from typing import Any

import numpy as np

from muster.tensor._call import apply, as_tensor, constant
from muster.tensor._creation import _cast
from muster.tensor._tensor import Tensor

__all__ = ["c_", "mgrid", "ogrid", "r_"]


class _Grid:
    """Coordinates of a grid given by slices; a complex step counts the items."""

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return constant(np.ogrid[key])
        vectors = [constant(each) for each in np.ogrid[key]]
        if self._sparse:
            return tuple(vectors)
        shape = [max(each.shape) for each in vectors]
        return apply("stack", [apply("broadcast_to", [each], shape=shape) for each in vectors])


class _Joiner:
    """Tensors, numbers and ranges written one after the other. A string "axis,ndmin,place" in front
    says along which axis they are joined, how many axes they have at least, and where those of
    shorter ones go."""

    def __init__(self, axis: int = 0, ndmin: int = 1, place: int = -1) -> None:
        self._defaults = (axis, ndmin, place)

    def __getitem__(self, key: Any) -> Tensor:
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, place = self._defaults
        if parts and isinstance(parts[0], str):
            axis, ndmin, place = self._directive(parts.pop(0))
        tensors = [self._part(part, ndmin, place) for part in parts]
        # Numbers take the dtype of the arrays beside them.
        plain = [isinstance(part, (int, float, complex)) for part in parts]
        dtypes = [
            each.dtype for each, is_number in zip(tensors, plain, strict=True) if not is_number
        ]
        numbers = [part for part, is_number in zip(parts, plain, strict=True) if is_number]
        common = np.result_type(*dtypes, *numbers)
        return apply("concatenate", [_cast(each, common) for each in tensors], axis=axis)

    def _directive(self, text: str) -> tuple[int, int, int]:
        axis, ndmin, place = self._defaults
        try:
            numbers = [int(number) for number in text.split(",")]
        except ValueError:
            raise ValueError(f"[r_] unknown directive {text!r}; it is 'axis,ndmin,place'") from None
        return (*numbers, *(axis, ndmin, place)[len(numbers) :])[:3]  # type: ignore[return-value]

    @staticmethod
    def _part(part: Any, ndmin: int, place: int) -> Tensor:
        if isinstance(part, slice):
            tensor = constant(np.r_[part])
        else:
            tensor = as_tensor(part)
            if tensor.ndim == 0:
                return apply("reshape", [tensor], shape=[1] * max(ndmin, 1))
        missing = ndmin - tensor.ndim
        if missing <= 0:
            return tensor
        own = tensor.ndim
        first = place if place >= 0 else place + missing + 1
        axes = list(range(missing))
        axes = [axis if axis < first else axis + own for axis in axes]
        return apply("expand_dims", [tensor], axis=axes)


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)
r_ = _Joiner()
c_ = _Joiner(-1, ndmin=2, place=0)
