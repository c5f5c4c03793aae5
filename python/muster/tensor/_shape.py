"""Tensors in other shapes: reshape, transpose, roll and their like."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from muster.tensor._call import apply, as_tensor
from muster.tensor._creation import ShapeLike, _cast, _chunk_size
from muster.tensor._creation import _shape as _extents
from muster.tensor._padding import pad
from muster.tensor._tensor import Tensor

__all__ = [
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_to",
    "copy",
    "delete",
    "diff",
    "dsplit",
    "ediff1d",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "hsplit",
    "insert",
    "moveaxis",
    "ndim",
    "pad",
    "ravel",
    "rechunk",
    "repeat",
    "reshape",
    "roll",
    "rollaxis",
    "rot90",
    "shape",
    "size",
    "split",
    "squeeze",
    "swapaxes",
    "tile",
    "transpose",
    "trapezoid",
    "trapz",
    "vsplit",
]

Axes = int | Sequence[int]


def _extent(x: Tensor, axis: int) -> int:
    """The size of an axis; computes the tensor where that decides it."""
    if math.isnan(x.shape[axis]):
        x.execute()
    return x.shape[axis]


def _slice(x: Tensor, axis: int, chosen: slice) -> Tensor:
    return x[(slice(None),) * axis + (chosen,)]


def ndim(a: Any) -> int:
    """The number of axes."""
    return a.ndim if isinstance(a, Tensor) else int(np.ndim(a))


def shape(a: Any) -> tuple[int, ...]:
    """The extent of each axis."""
    return a.shape if isinstance(a, Tensor) else np.shape(a)


def size(a: Any, axis: int | None = None) -> int:
    """The number of items, or those along an axis."""
    x = as_tensor(a)
    return x.size if axis is None else x.shape[axis]


def copy(a: Any, order: str = "K") -> Tensor:
    """A tensor of the same items; assignments to one do not change the other."""
    return Tensor(as_tensor(a)._handle)


def reshape(a: Any, shape: ShapeLike, order: str = "C") -> Tensor:
    """The items in order as another shape; one extent may be -1."""
    if order not in ("C", "F", "A"):
        raise ValueError(f"[reshape] order must be one of 'C', 'F', or 'A', not {order!r}")
    return apply("reshape", [as_tensor(a)], shape=list(_extents(shape)), order=order)


def ravel(a: Any, order: str = "C") -> Tensor:
    """All items along one axis."""
    return reshape(a, -1, "C" if order == "K" else order)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order, reversed if none are given."""
    chosen = None if axes is None else [operator.index(axis) for axis in axes]
    return apply("transpose", [as_tensor(a)], axes=chosen)


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    """Two axes change places."""
    x = as_tensor(a)
    first, second = normalize_axis_index(axis1, x.ndim), normalize_axis_index(axis2, x.ndim)
    axes = list(range(x.ndim))
    axes[first], axes[second] = second, first
    return transpose(x, axes)


def moveaxis(a: Any, source: Axes, destination: Axes) -> Tensor:
    """Axes go to other places; the others keep their order."""
    x = as_tensor(a)
    from_axes = normalize_axis_tuple(source, x.ndim, "source")
    to_axes = normalize_axis_tuple(destination, x.ndim, "destination")
    if len(from_axes) != len(to_axes):
        raise ValueError("[moveaxis] source and destination must name as many axes")
    order = [axis for axis in range(x.ndim) if axis not in from_axes]
    for to, axis in sorted(zip(to_axes, from_axes, strict=True)):
        order.insert(to, axis)
    return transpose(x, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    """An axis goes before another place."""
    x = as_tensor(a)
    axis = normalize_axis_index(axis, x.ndim)
    if start < -x.ndim or start > x.ndim:
        raise np.exceptions.AxisError(
            f"[rollaxis] start {start} is out of bounds for {x.ndim} axes"
        )
    start = start + x.ndim if start < 0 else start
    order = list(range(x.ndim))
    order.remove(axis)
    order.insert(start - 1 if axis < start else start, axis)
    return transpose(x, order)


def expand_dims(a: Any, axis: Axes) -> Tensor:
    """New axes of extent one."""
    x = as_tensor(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    return apply("expand_dims", [x], axis=list(normalize_axis_tuple(axis, x.ndim + count)))


def squeeze(a: Any, axis: Axes | None = None) -> Tensor:
    """Without axes of extent one."""
    x = as_tensor(a)
    chosen = None if axis is None else list(normalize_axis_tuple(axis, x.ndim))
    return apply("squeeze", [x], axis=chosen)


def atleast_1d(*arys: Any) -> Any:
    """Tensors of one axis at least."""
    return _atleast(arys, lambda x: reshape(x, 1) if x.ndim == 0 else x)


def atleast_2d(*arys: Any) -> Any:
    """Tensors of two axes at least; vectors become rows."""
    return _atleast(arys, lambda x: expand_dims(x, tuple(range(2 - x.ndim))) if x.ndim < 2 else x)


def atleast_3d(*arys: Any) -> Any:
    """Tensors of three axes at least; vectors and matrices become slices in the middle."""
    new = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _atleast(arys, lambda x: expand_dims(x, new[x.ndim]) if x.ndim < 3 else x)


def _atleast(arrays: Sequence[Any], grow: Any) -> Any:
    grown = tuple(grow(as_tensor(each)) for each in arrays)
    return grown[0] if len(grown) == 1 else grown


def broadcast_to(array: Any, shape: ShapeLike) -> Tensor:
    """Repeated along new axes and those of extent one, without copying."""
    return apply("broadcast_to", [as_tensor(array)], shape=list(_extents(shape)))


def broadcast_arrays(*args: Any) -> tuple[Tensor, ...]:
    """Tensors repeated to the shape that all of them have together."""
    tensors = [as_tensor(each) for each in args]
    whole = np.broadcast_shapes(*(each.shape for each in tensors))
    return tuple(broadcast_to(each, whole) for each in tensors)


def flip(m: Any, axis: Axes | None = None) -> Tensor:
    """The items of axes, all without one, in reverse order."""
    x = as_tensor(m)
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    return x[tuple(slice(None, None, -1 if i in axes else None) for i in range(x.ndim))]


def flipud(m: Any) -> Tensor:
    """The items of the first axis in reverse order."""
    return flip(m, 0)


def fliplr(m: Any) -> Tensor:
    """The items of the second axis in reverse order."""
    x = as_tensor(m)
    if x.ndim < 2:
        raise ValueError("[fliplr] needs at least two axes")
    return flip(x, 1)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """Turned by 90 degrees, k times, from the first of two axes towards the second."""
    x = as_tensor(m)
    if len(axes) != 2:
        raise ValueError(f"[rot90] needs two axes, not {len(axes)}")
    first, second = (normalize_axis_index(axis, x.ndim) for axis in axes)
    if first == second:
        raise ValueError("[rot90] the axes must be different")
    k %= 4
    if k == 0:
        return copy(x)
    if k == 2:
        return flip(x, (first, second))
    if k == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


def roll(a: Any, shift: Axes, axis: Axes | None = None) -> Tensor:
    """The items of axes moved along; what leaves at the end comes in at the start."""
    x = as_tensor(a)
    if axis is None:
        return reshape(roll(ravel(x), int(np.sum(shift)), 0), x.shape)
    axes = normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    shifts = np.broadcast_to(np.asarray(shift), max(np.shape(shift), (len(axes),)))
    if len(axes) == 1:
        axes = axes * len(shifts)
    for place, by in zip(axes, np.broadcast_to(shifts, (len(axes),)), strict=True):
        extent = _extent(x, place)
        cut = int(by) % extent if extent else 0
        if cut:
            parts = [_slice(x, place, slice(-cut, None)), _slice(x, place, slice(None, -cut))]
            x = apply("concatenate", parts, axis=place)
    return x


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Each item several times along an axis, or of the flattened tensor."""
    x = as_tensor(a)
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis_index(axis, x.ndim)
    counts = np.asarray(repeats.to_numpy() if isinstance(repeats, Tensor) else repeats)
    if counts.size and counts.min() < 0:
        raise ValueError("[repeat] repeats must not be negative")
    extent = _extent(x, place)
    if counts.size == 1:
        count = int(counts.reshape(()))
        wide = list(x.shape)
        wide.insert(place + 1, count)
        wide = [
            _extent(x, i if i <= place else i - 1) if i != place + 1 else count
            for i in range(x.ndim + 1)
        ]
        merged = list(x.shape)
        merged[place] = extent * count
        return reshape(broadcast_to(expand_dims(x, place + 1), wide), merged)
    if counts.shape != (extent,):
        raise ValueError(f"[repeat] {counts.shape} repeats do not fit an axis of size {extent}")
    return x[(slice(None),) * place + (np.repeat(np.arange(extent), counts),)]


#: Fewer items are repeated by a broadcast, more by naming their chunks again.
_SMALL = 65536


def tile(A: Any, reps: Axes) -> Tensor:
    """The whole tensor several times along each axis."""
    x = as_tensor(A)
    counts = list(_extents(reps))
    if any(count < 0 for count in counts):
        raise ValueError(f"[tile] the numbers of times must not be negative: {counts}")
    counts = [1] * (x.ndim - len(counts)) + counts
    if len(counts) > x.ndim:
        x = expand_dims(x, tuple(range(len(counts) - x.ndim)))
    for axis in range(x.ndim):
        _extent(x, axis)
    if x.size >= _SMALL and all(counts):
        for axis, count in enumerate(counts):
            if count > 1:
                x = apply("concatenate", [x] * count, axis=axis)
        return x
    extents = x.shape
    wide = [number for pair in zip(counts, extents, strict=True) for number in pair]
    spread = broadcast_to(reshape(x, [n for extent in extents for n in (1, extent)]), wide)
    return reshape(spread, [a * b for a, b in zip(counts, extents, strict=True)])


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Parts of an axis: as many as said, nearly alike, or cut at positions."""
    x = as_tensor(ary)
    place = normalize_axis_index(axis, x.ndim)
    extent = _extent(x, place)
    try:
        cuts = [int(cut) for cut in indices_or_sections]
    except TypeError:
        sections = operator.index(indices_or_sections)
        if sections <= 0:
            raise ValueError("[array_split] the number of parts must be positive") from None
        each, extra = divmod(extent, sections)
        sizes = [each + 1] * extra + [each] * (sections - extra)
        cuts = np.cumsum(sizes)[:-1].tolist()
    return [
        _slice(x, place, slice(begin, end))
        for begin, end in zip([0, *cuts], [*cuts, None], strict=True)
    ]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Parts of an axis: as many as said, all alike, or cut at positions."""
    x = as_tensor(ary)
    if np.ndim(indices_or_sections) == 0:
        extent = _extent(x, normalize_axis_index(axis, x.ndim))
        if extent % operator.index(indices_or_sections):
            raise ValueError(
                f"[split] an axis of size {extent} has no {indices_or_sections} equal parts"
            )
    return array_split(x, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """Parts of the second axis, or of the only one."""
    x = as_tensor(ary)
    if x.ndim == 0:
        raise ValueError("[hsplit] needs at least one axis")
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """Parts of the first axis."""
    x = as_tensor(ary)
    if x.ndim < 2:
        raise ValueError("[vsplit] needs at least two axes")
    return split(x, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """Parts of the third axis."""
    x = as_tensor(ary)
    if x.ndim < 3:
        raise ValueError("[dsplit] needs at least three axes")
    return split(x, indices_or_sections, 2)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    """Values before positions of an axis, or of the flattened tensor."""
    x = as_tensor(arr)
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis_index(axis, x.ndim)
    extent = _extent(x, place)
    new = _cast(as_tensor(values), x.dtype)
    where = obj.to_numpy() if isinstance(obj, Tensor) else obj
    single = not isinstance(where, slice) and np.ndim(where) == 0
    if new.ndim < x.ndim:
        new = expand_dims(new, tuple(range(x.ndim - new.ndim)))
    if single:
        new = moveaxis(new, 0, place)
    probe = np.arange(extent)
    if single:
        count = new.shape[place]
        order = np.insert(probe, where, extent + np.arange(count))
    else:
        count = len(np.insert(probe, where, 0)) - extent
        order = np.insert(probe, where, extent + np.arange(count))
    target = list(x.shape)
    target[place] = count
    both = apply("concatenate", [x, broadcast_to(new, target)], axis=place)
    return both[(slice(None),) * place + (order,)]


def delete(arr: Any, obj: Any, axis: int | None = None) -> Tensor:
    """Without the items at positions of an axis, or of the flattened tensor."""
    x = as_tensor(arr)
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis_index(axis, x.ndim)
    where = obj.to_numpy() if isinstance(obj, Tensor) else obj
    kept = np.delete(np.arange(_extent(x, place)), where)
    return x[(slice(None),) * place + (kept,)]


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """The differences of neighbours along an axis, n times over."""
    if n < 0:
        raise ValueError(f"[diff] the order must not be negative: {n}")
    x = as_tensor(a)
    if x.ndim == 0:
        raise ValueError("[diff] needs at least one axis")
    if n == 0:
        return x
    place = normalize_axis_index(axis, x.ndim)
    parts = [x]
    for edge, at in ((prepend, 0), (append, len(parts))):
        if edge is None:
            continue
        beside = as_tensor(edge)
        if beside.ndim == 0:
            extents = list(x.shape)
            extents[place] = 1
            beside = broadcast_to(beside, extents)
        parts.insert(at if edge is prepend and at == 0 else len(parts), beside)
    if len(parts) > 1:
        x = apply("concatenate", parts, axis=place)
    name = "not_equal" if x.dtype.kind == "b" else "subtract"
    for _ in range(n):
        ahead, behind = _slice(x, place, slice(1, None)), _slice(x, place, slice(None, -1))
        x = apply(name, [ahead, behind])
    return x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """The differences of neighbours in the flattened tensor, with something at either end."""
    x = ravel(ary)
    parts = [apply("subtract", [x[1:], x[:-1]])]
    if to_begin is not None:
        parts.insert(0, _cast(ravel(to_begin), x.dtype))
    if to_end is not None:
        parts.append(_cast(ravel(to_end), x.dtype))
    return parts[0] if len(parts) == 1 else apply("concatenate", parts, axis=0)


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The integral along an axis by the trapezoidal rule."""
    values = as_tensor(y)
    place = normalize_axis_index(axis, values.ndim)
    ahead, behind = _slice(values, place, slice(1, None)), _slice(values, place, slice(None, -1))
    if x is None:
        width = as_tensor(np.asarray(dx))
    else:
        points = as_tensor(x)
        width = diff(points) if points.ndim == 1 else diff(points, axis=axis)
        if points.ndim == 1:
            width = reshape(width, [-1 if i == place else 1 for i in range(values.ndim)])
    heights = apply("add", [ahead, behind])
    areas = apply("divide", [apply("multiply", [width, heights]), as_tensor(np.asarray(2.0))])
    return apply("sum", [areas], axis=place)


trapz = trapezoid


def rechunk(a: Any, chunk_size: Any) -> Tensor:
    """The same items in other chunks: a number, one for each axis, or the extents of each axis. A
    dict names some axes only; None leaves an axis as it is."""
    x = as_tensor(a)
    if isinstance(chunk_size, dict):
        wishes: list[Any] = [None] * x.ndim
        for axis, wish in chunk_size.items():
            wishes[normalize_axis_index(axis, x.ndim)] = wish
        chunk_size = wishes
    return apply("rechunk", [x], chunk_size=_chunk_size(chunk_size))
