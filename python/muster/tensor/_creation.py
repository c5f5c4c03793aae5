"""Tensors made of nothing: ones, arange, eye and their like."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndindex

from muster.tensor._call import apply, as_tensor, constant
from muster.tensor._tensor import Tensor

__all__ = [
    "arange",
    "array",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "diag",
    "diagflat",
    "diagonal",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "identity",
    "indices",
    "linspace",
    "meshgrid",
    "ndindex",
    "ones",
    "ones_like",
    "scalar",
    "tensor",
    "tri",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

ShapeLike = int | Sequence[int]


def _shape(shape: ShapeLike) -> tuple[int, ...]:
    if isinstance(shape, Tensor):
        shape = shape.to_numpy().tolist()
    try:
        return (operator.index(shape),)  # type: ignore[arg-type]
    except TypeError:
        return tuple(operator.index(extent) for extent in shape)  # type: ignore[union-attr]


def _chunk_size(chunk_size: Any) -> Any:
    """Plain integers, lists of them, and None."""
    if chunk_size is None:
        return None
    if isinstance(chunk_size, str):
        raise TypeError(f"chunk_size {chunk_size!r} is neither a number nor a sequence of them")
    try:
        return operator.index(chunk_size)
    except TypeError:
        return [_chunk_size(part) for part in chunk_size]


def _cast(x: Tensor, dtype: Any) -> Tensor:
    wanted = np.dtype(dtype)
    return x if x.dtype == wanted else apply("astype", [x], dtype=wanted)


def _check_order(order: str | None) -> None:
    if order not in (None, "C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K', not {order!r}")


def tensor(
    data: Any,
    dtype: Any = None,
    order: str | None = "K",
    chunk_size: Any = None,
) -> Tensor:
    """A tensor of what an array-like holds; a NumPy array is not copied. `order` is accepted for
    NumPy's sake: chunks lie in memory as their operators make them."""
    _check_order(order)
    if not isinstance(data, Tensor):
        return constant(data, dtype=dtype, chunk_size=_chunk_size(chunk_size))
    result = data if dtype is None else _cast(data, dtype)
    if chunk_size is not None:
        return apply("rechunk", [result], chunk_size=_chunk_size(chunk_size))
    return Tensor(result._handle)


def array(
    object: Any,
    dtype: Any = None,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    chunk_size: Any = None,
) -> Tensor:
    """A tensor with a copy of what an array-like holds."""
    if copy and isinstance(object, np.ndarray):
        object = np.array(object, dtype=dtype)
    result = tensor(object, dtype, order, chunk_size)
    missing = ndmin - result.ndim
    return apply("expand_dims", [result], axis=list(range(missing))) if missing > 0 else result


def asarray(a: Any, dtype: Any = None, order: str | None = None, chunk_size: Any = None) -> Tensor:
    """The tensor itself, or one of what an array-like holds."""
    if isinstance(a, Tensor) and chunk_size is None and dtype in (None, a.dtype):
        return a
    return tensor(a, dtype, order, chunk_size)


def ascontiguousarray(a: Any, dtype: Any = None, chunk_size: Any = None) -> Tensor:
    """A tensor of at least one axis."""
    return array(a, dtype, copy=False, ndmin=1, chunk_size=chunk_size)


def asfortranarray(a: Any, dtype: Any = None, chunk_size: Any = None) -> Tensor:
    """A tensor of at least one axis."""
    return array(a, dtype, copy=False, ndmin=1, chunk_size=chunk_size)


def scalar(data: Any, dtype: Any = None) -> Tensor:
    """A tensor of a single number."""
    value = np.asarray(data, dtype=dtype)
    if value.ndim:
        raise TypeError(f"[scalar] needs a single number, not an array of shape {value.shape}")
    return constant(value)


def _filled(shape: ShapeLike, value: Any, dtype: Any, chunk_size: Any) -> Tensor:
    item = np.asarray(value).astype(dtype, casting="unsafe")[()]
    return apply("full", [], shape=_shape(shape), value=item, chunk_size=_chunk_size(chunk_size))


def full(
    shape: ShapeLike,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    chunk_size: Any = None,
) -> Tensor:
    """One value everywhere, or an array that is repeated to the shape."""
    _check_order(order)
    if isinstance(fill_value, Tensor) or np.ndim(fill_value):
        values = as_tensor(fill_value)
        if dtype is not None:
            values = _cast(values, dtype)
        result = apply("broadcast_to", [values], shape=_shape(shape))
        if chunk_size is not None:
            result = apply("rechunk", [result], chunk_size=_chunk_size(chunk_size))
        return result
    chosen = np.asarray(fill_value).dtype if dtype is None else np.dtype(dtype)
    return _filled(shape, fill_value, chosen, chunk_size)


def empty(shape: ShapeLike, dtype: Any = float, order: str = "C", chunk_size: Any = None) -> Tensor:
    """A tensor whose items are not decided (they are zeros)."""
    _check_order(order)
    return _filled(shape, 0, np.dtype(dtype), chunk_size)


def zeros(shape: ShapeLike, dtype: Any = float, order: str = "C", chunk_size: Any = None) -> Tensor:
    """Zeros everywhere."""
    _check_order(order)
    return _filled(shape, 0, np.dtype(dtype), chunk_size)


def ones(shape: ShapeLike, dtype: Any = float, order: str = "C", chunk_size: Any = None) -> Tensor:
    """Ones everywhere."""
    _check_order(order)
    return _filled(shape, 1, np.dtype(dtype), chunk_size)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    shape: ShapeLike | None = None,
    chunk_size: Any = None,
) -> Tensor:
    """One value everywhere, in the shape and chunks of another tensor unless told otherwise."""
    _check_order(order)
    like = as_tensor(a)
    chosen = like.dtype if dtype is None else np.dtype(dtype)
    if isinstance(fill_value, Tensor) or np.ndim(fill_value):
        extents = like.shape if shape is None else shape
        return full(extents, fill_value, chosen, chunk_size=chunk_size)
    if shape is not None or chunk_size is not None:
        return _filled(like.shape if shape is None else shape, fill_value, chosen, chunk_size)
    item = np.asarray(fill_value).astype(chosen, casting="unsafe")[()]
    return apply("full_like", [like], value=item)


def empty_like(
    prototype: Any,
    dtype: Any = None,
    order: str = "K",
    shape: ShapeLike | None = None,
    chunk_size: Any = None,
) -> Tensor:
    """A tensor like another whose items are not decided (they are zeros)."""
    return full_like(prototype, 0, dtype, order, shape, chunk_size)


def zeros_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    shape: ShapeLike | None = None,
    chunk_size: Any = None,
) -> Tensor:
    """Zeros in the shape of another tensor."""
    return full_like(a, 0, dtype, order, shape, chunk_size)


def ones_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    shape: ShapeLike | None = None,
    chunk_size: Any = None,
) -> Tensor:
    """Ones in the shape of another tensor."""
    return full_like(a, 1, dtype, order, shape, chunk_size)


def arange(*args: Any, dtype: Any = None, chunk_size: Any = None, **names: Any) -> Tensor:
    """arange([start,] stop[, step]): numbers at equal distances, up to but without `stop`."""
    start, stop, step = _range(*args, **names)
    chosen = np.dtype(dtype) if dtype is not None else _range_dtype(start, stop, step)
    if chosen.kind in "bmM" or any(np.asarray(each).dtype.kind in "mM" for each in (start, stop)):
        return constant(np.arange(start, stop, step, dtype=dtype), chunk_size=chunk_size)
    if step == 0:
        raise ZeroDivisionError("[arange] the step must not be zero")
    if isinstance(stop - start, complex):
        span = (stop - start) / step
        count = min(math.ceil(span.real), math.ceil(span.imag))
    else:
        count = math.ceil((stop - start) / step)
    with np.errstate(all="ignore"):
        first = np.asarray(start).astype(chosen)[()]
        second = np.asarray(start + step).astype(chosen)[()]
    return apply(
        "arange",
        [],
        start=first,
        next=second,
        shape=[max(0, count)],
        chunk_size=_chunk_size(chunk_size),
    )


def _range(
    start: Any = None, stop: Any = None, step: Any = None, *, dtype: Any = None
) -> tuple[Any, Any, Any]:
    if start is None and stop is None:
        raise TypeError("[arange] needs a stop")
    if stop is None:
        start, stop = 0, start
    return (0 if start is None else start), stop, (1 if step is None else step)


def _range_dtype(start: Any, stop: Any, step: Any) -> np.dtype[Any]:
    # What NumPy chooses, without the items.
    return np.result_type(np.arange(start, start, step), np.arange(stop, stop, step))


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    chunk_size: Any = None,
) -> Any:
    """`num` numbers at equal distances, the last being `stop` if `endpoint`."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"[linspace] the number of items, {num}, must not be negative")
    if isinstance(start, Tensor) or isinstance(stop, Tensor) or np.ndim(start) or np.ndim(stop):
        return _linspace_of_arrays(start, stop, num, endpoint, retstep, dtype, axis)
    inner = np.result_type(start, stop, 0.0)
    if inner.kind not in "fc" or inner.itemsize < 4 or inner.itemsize > 16:
        return constant(np.linspace(start, stop, num, endpoint, dtype=dtype), chunk_size=chunk_size)
    chosen = inner if dtype is None else np.dtype(dtype)
    items = apply(
        "linspace",
        [],
        start=inner.type(start),
        stop=inner.type(stop),
        count=num,
        endpoint=endpoint,
        dtype=chosen,
        shape=[num],
        chunk_size=_chunk_size(chunk_size),
    )
    if not retstep:
        return items
    parts = num - 1 if endpoint else num
    step = (inner.type(stop) - inner.type(start)) / parts if parts > 0 else math.nan
    return items, step


def _linspace_of_arrays(
    start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int
) -> Any:
    first, last = as_tensor(start), as_tensor(stop)
    inner = np.result_type(first.dtype, last.dtype, 0.0)
    first, last = _cast(first, inner), _cast(last, inner)
    parts = num - 1 if endpoint else num
    delta = apply("subtract", [last, first])
    if parts > 0:
        step = apply("divide", [delta, constant(inner.type(parts))])
    else:
        step = full_like(delta, math.nan)
    numbers = arange(num, dtype=inner)
    numbers = apply("reshape", [numbers], shape=[num] + [1] * delta.ndim)
    factor = step if parts > 0 else delta
    items = apply("add", [apply("multiply", [numbers, factor]), first])
    if endpoint and num > 1:
        end = apply("expand_dims", [apply("broadcast_to", [last], shape=delta.shape)], axis=0)
        items = apply("concatenate", [items[:-1], end], axis=0)
    if axis != 0:
        from muster.tensor._shape import moveaxis

        items = moveaxis(items, 0, axis)
    if dtype is not None:
        if np.issubdtype(dtype, np.integer):
            items = apply("floor", [items])
        items = _cast(items, dtype)
    return (items, step) if retstep else items


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    order: str = "C",
    chunk_size: Any = None,
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""
    _check_order(order)
    rows = operator.index(N)
    return apply(
        "eye",
        [],
        shape=[rows, rows if M is None else operator.index(M)],
        k=operator.index(k),
        dtype=np.dtype(dtype),
        chunk_size=_chunk_size(chunk_size),
    )


def identity(n: int, dtype: Any = None, chunk_size: Any = None) -> Tensor:
    """A square matrix with ones on its diagonal."""
    return eye(n, dtype=float if dtype is None else dtype, chunk_size=chunk_size)


def tri(
    N: int, M: int | None = None, k: int = 0, dtype: Any = float, chunk_size: Any = None
) -> Tensor:
    """Ones at and below the k-th diagonal."""
    return tril(ones((N, N if M is None else M), dtype, chunk_size=chunk_size), k)


def tril(m: Any, k: int = 0) -> Tensor:
    """Zeros above the k-th diagonal of the last two axes."""
    return _triangle("tril", m, k)


def triu(m: Any, k: int = 0) -> Tensor:
    """Zeros below the k-th diagonal of the last two axes."""
    return _triangle("triu", m, k)


def _triangle(name: str, m: Any, k: int) -> Tensor:
    x = as_tensor(m)
    if x.ndim == 1:  # NumPy makes a square of it
        x = apply("broadcast_to", [x], shape=[*x.shape, *x.shape])
    return apply(name, [x], k=operator.index(k))


def diag(v: Any, k: int = 0) -> Tensor:
    """A matrix with a vector on its k-th diagonal, or that diagonal of a matrix."""
    return apply("diag", [as_tensor(v)], k=operator.index(k))


def diagflat(v: Any, k: int = 0) -> Tensor:
    """A matrix with all items of an array on its k-th diagonal."""
    return diag(apply("reshape", [as_tensor(v)], shape=[-1]), k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The items on a diagonal of two axes; the diagonal is the last axis of the result."""
    x = as_tensor(a)
    if x.ndim < 2:
        raise ValueError(f"[diagonal] needs at least two axes, the shape is {x.shape}")
    first, second = (
        np.lib.array_utils.normalize_axis_index(each, x.ndim) for each in (axis1, axis2)
    )
    if first == second:
        raise ValueError("[diagonal] axis1 and axis2 are the same")
    others = [axis for axis in range(x.ndim) if axis not in (first, second)]
    moved = apply("transpose", [x], axes=[*others, first, second])
    return apply("diagonal", [moved], offset=operator.index(offset))


def meshgrid(
    *xi: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True
) -> list[Tensor]:
    """Coordinate matrices of coordinate vectors."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"[meshgrid] indexing is 'xy' or 'ij', not {indexing!r}")
    vectors = [as_tensor(each) for each in xi]
    count = len(vectors)
    shaped = []
    for number, vector in enumerate(vectors):
        axis = 1 - number if indexing == "xy" and count > 1 and number < 2 else number
        extents = [1] * count
        extents[axis] = -1
        shaped.append(apply("reshape", [vector], shape=extents))
    if sparse:
        return shaped
    whole = np.broadcast_shapes(*(each.shape for each in shaped)) if shaped else ()
    return [apply("broadcast_to", [each], shape=whole) for each in shaped]


def indices(
    dimensions: Sequence[int], dtype: Any = int, sparse: bool = False, chunk_size: Any = None
) -> Any:
    """The index of each item along each axis."""
    extents = _shape(dimensions)
    grids = []
    for axis, extent in enumerate(extents):
        shape = [1] * len(extents)
        shape[axis] = extent
        numbers = apply("reshape", [arange(extent, dtype=dtype)], shape=shape)
        grids.append(numbers if sparse else apply("broadcast_to", [numbers], shape=extents))
    if sparse:
        return tuple(grids)
    if not grids:
        return zeros((0,), dtype)
    result = apply("stack", grids, axis=0)
    if chunk_size is not None:
        result = apply("rechunk", [result], chunk_size=_chunk_size(chunk_size))
    return result
