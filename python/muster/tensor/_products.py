"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from muster.tensor._call import apply, as_tensor
from muster.tensor._reductions import store
from muster.tensor._tensor import Tensor

__all__ = ["dot", "einsum", "inner", "innerproduct", "matmul", "tensordot", "vdot"]


def dot(a: Any, b: Any, out: Tensor | None = None) -> Tensor:
    """The product of matrices and vectors: the last axis of `a` with the last but one of `b`."""
    return store(apply("dot", [as_tensor(a), as_tensor(b)]), out)


def inner(a: Any, b: Any) -> Tensor:
    """Sums of products over the last axes."""
    return apply("inner", [as_tensor(a), as_tensor(b)])


def innerproduct(a: Any, b: Any) -> Tensor:
    """The same as `inner`."""
    return inner(a, b)


def vdot(a: Any, b: Any) -> Tensor:
    """The product of two vectors, the first conjugated; other tensors are flattened."""
    return apply("vdot", [as_tensor(a), as_tensor(b)])


def matmul(a: Any, b: Any, out: Tensor | None = None) -> Tensor:
    """The product of matrices, or of stacks of them."""
    return store(apply("matmul", [as_tensor(a), as_tensor(b)]), out)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Sums of products over pairs of axes: the last `axes` of `a` and the first of `b`, or those
    that a pair of lists names."""
    a, b = as_tensor(a), as_tensor(b)
    if isinstance(axes, (int, np.integer)):
        if axes < 0 or axes > min(a.ndim, b.ndim):
            raise ValueError(
                f"[tensordot] cannot sum over {axes} axes of shapes {a.shape} and {b.shape}"
            )
        first, second = list(range(a.ndim - int(axes), a.ndim)), list(range(int(axes)))
    else:
        first, second = (_numbers(each) for each in axes)
    return apply("tensordot", [a, b], axes_a=first, axes_b=second)


def einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Tensor:
    """Sums of products by Einstein's convention: `einsum("ij,jk->ik", a, b)`. Operands are joined
    from left to right, with `optimize` in the order that `numpy.einsum_path` finds."""
    if not isinstance(subscripts, str):
        subscripts, operands = _as_text(subscripts, *operands)
    tensors = [as_tensor(each) for each in operands]
    path = None
    if optimize is not False and len(tensors) > 2:
        path = _path(subscripts, tensors, optimize)
    return apply("einsum", tensors, subscripts=subscripts, path=path)


def _path(subscripts: str, tensors: Sequence[Tensor], optimize: Any) -> list[int] | None:
    # Only shapes matter, so one item stands for all.
    stand_ins = [np.broadcast_to(np.zeros((), each.dtype), each.shape) for each in tensors]
    found, _ = np.einsum_path(subscripts, *stand_ins, optimize=optimize)
    pairs = found[1:]
    if any(len(pair) != 2 for pair in pairs):
        return None
    return [int(number) for pair in pairs for number in pair]


def _as_text(*arguments: Any) -> tuple[str, tuple[Any, ...]]:
    """NumPy's other form: operand, labels, operand, labels, ..., labels of the result."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def text(labels: Sequence[Any]) -> str:
        return "".join("..." if each is Ellipsis else letters[each] for each in labels)

    operands = arguments[0 : len(arguments) // 2 * 2 : 2]
    parts = [text(each) for each in arguments[1::2]]
    subscripts = ",".join(parts)
    if len(arguments) % 2:
        subscripts += "->" + text(arguments[-1])
    return subscripts, operands


def _numbers(axes: Any) -> list[int]:
    return [int(axes)] if isinstance(axes, (int, np.integer)) else [int(each) for each in axes]
