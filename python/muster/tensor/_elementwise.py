"""How element-wise functions are called: numbers beside tensors, `dtype`, `out` and `where`."""

from __future__ import annotations

from typing import Any

import numpy as np

from muster.tensor._call import apply, as_tensor, constant, operands
from muster.tensor._tensor import Tensor

_COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
#: x ** n for the n that need no power, of floats and complex numbers, as in NumPy.
_CHEAP_POWERS = {2: "square", 1: "positive", 0.5: "sqrt", -1: "reciprocal"}


def call(
    name: str,
    *arguments: Any,
    out: Any = None,
    where: Any = True,
    casting: str = "same_kind",
    dtype: Any = None,
) -> Tensor:
    """The element-wise operator `name` on tensors, arrays and numbers."""
    inputs = operands(*arguments, comparing=name in _COMPARISONS)
    result = apply(name, inputs, dtype=None if dtype is None else np.dtype(dtype))
    if out is None and where is True:
        return result
    return store(name, result, out, where, casting)


def store(
    name: str, result: Tensor, out: Any, where: Any = True, casting: str = "same_kind"
) -> Tensor:
    """Makes `out` stand for the result, where `where` holds. Tensors are lazy: those made from
    `out` before still stand for what it was."""
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        if where is True:
            return result
        nothing = constant(np.zeros((), dtype=result.dtype))
        return apply("where", [_mask(name, where), result, nothing])
    if not isinstance(out, Tensor):
        raise TypeError(f"[{name}] out must be a tensor, not {type(out).__name__}")
    _check_cast(name, result, out, casting)
    mask = _mask(name, where)
    _check_shapes(name, result, mask, out)
    if result.dtype != out.dtype:
        result = apply("astype", [result], dtype=out.dtype)
    if where is not True or result.shape != out.shape:
        result = apply("where", [mask, result, out])
    out._handle = result._handle
    return out


def power(x1: Any, x2: Any) -> Tensor:
    """`x1 ** x2`; squares, cubes, roots and reciprocals take the short way."""
    if isinstance(x1, Tensor) and type(x2) in (int, float):
        short = _CHEAP_POWERS.get(x2)
        kind = x1.dtype.kind
        if short and (kind in "fc" or (kind in "iu" and type(x2) is int and x2 in (1, 2))):
            return call(short, x1)
        if x2 == 3 and x1.dtype in (np.float32, np.float64):  # within an ulp of the power
            return call("multiply", call("square", x1), x1)
    return call("power", x1, x2)


def _mask(name: str, where: Any) -> Tensor:
    mask = as_tensor(where)
    if mask.dtype != np.bool_:
        raise TypeError(f"[{name}] where must be of bool, not {mask.dtype}")
    return mask


def _check_cast(name: str, result: Tensor, out: Tensor, casting: str) -> None:
    if not np.can_cast(result.dtype, out.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"[{name}] the result of {result.dtype} does not go into out of {out.dtype} "
            f"by the rule '{casting}'"
        )


def _check_shapes(name: str, result: Tensor, mask: Tensor, out: Tensor) -> None:
    shapes = (result.shape, mask.shape, out.shape)
    if any(extent != extent for shape in shapes for extent in shape):  # unknown ones are nan
        return
    try:
        fits = np.broadcast_shapes(*shapes) == out.shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"[{name}] the result of shape {result.shape} does not go into out of shape {out.shape}"
        )
