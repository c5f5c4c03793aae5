"""Applies operators of the engine: the one way from Python's functions into the graph."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from muster import _core
from muster._options import options

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def origin() -> str:
    """Where the user's program calls us: "train.py:17"."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def apply(name: str, inputs: Sequence[Tensor], **parameters: Any) -> Tensor:
    """The only result of an operator."""
    (result,) = apply_many(name, inputs, **parameters)
    return result


def apply_many(name: str, inputs: Sequence[Tensor], **parameters: Any) -> list[Tensor]:
    """All results of an operator. Parameters that are None are left away."""
    handles = _core.tensor_apply(name, [each._handle for each in inputs], parameters, origin())
    results = [Tensor(handle) for handle in handles]
    if options.eager_mode:
        from muster.session import execute

        execute(*results)
    return results


def constant(value: ArrayLike, dtype: Any = None, chunk_size: Any = None) -> Tensor:
    """A tensor over the items of an array, which is not copied if it is one already."""
    array = np.asarray(value, dtype=dtype)
    return Tensor(_core.tensor_constant(array, chunk_size, origin()))


def as_tensor(value: Any) -> Tensor:
    """The tensor itself, or a constant."""
    return value if isinstance(value, Tensor) else constant(value)


def operands(*values: Any, comparing: bool = False) -> list[Tensor]:
    """Tensors of what an element-wise function was given, by NumPy's rule for Python's numbers:
    they take the dtype of the arrays beside them, if its kind can hold them. An integer that the
    dtype cannot hold is refused, but for comparisons."""
    tensors = [None if _is_weak(each) else as_tensor(each) for each in values]
    strong = [each.dtype for each in tensors if each is not None]
    if not strong:
        return [constant(each) for each in values]
    times = [dtype for dtype in strong if dtype.kind in "mM"]
    common = times[0] if times else np.result_type(*strong)
    return [
        constant(_weak_value(value, common, comparing)) if tensor is None else tensor
        for value, tensor in zip(values, tensors, strict=True)
    ]


def _is_weak(value: Any) -> bool:
    """Python's own numbers; NumPy's float64 is a float too, but knows its dtype."""
    return type(value) in (bool, int, float, complex)


def _weak_value(
    number: bool | int | float | complex, beside: np.dtype[Any], comparing: bool
) -> NDArray[Any]:
    if isinstance(number, bool) or beside.kind in "mM":
        return np.asarray(number)
    dtype = np.result_type(number, beside)
    try:
        return np.asarray(number, dtype=dtype)
    except OverflowError:
        if not comparing:
            raise
    try:
        return np.asarray(number, dtype=np.int64 if number < 0 else np.uint64)  # type: ignore[operator]
    except OverflowError:
        return np.asarray(np.inf if number > 0 else -np.inf)  # type: ignore[operator]


from muster.tensor._tensor import Tensor  # noqa: E402  (they need each other)
