"""What stands between the brackets of `x[...]`, taken apart."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from muster.tensor._call import apply, constant
from muster.tensor._tensor import Tensor

#: A bound of a slice that was left away, as the engine knows it.
OPEN = -(2**63)


@dataclass
class Entry:
    """One part of a key: a new axis, a slice or a number of an axis, or an array for some axes."""

    kind: str  # "new", "slice", "item", "array", "mask"
    axis: int = 0  # the first axis of the tensor that it is about
    value: Any = None

    @property
    def axes(self) -> int:
        if self.kind == "mask":
            return len(self.value.shape)
        return 0 if self.kind == "new" else 1


def parse_key(x: Tensor, key: Any) -> list[Entry]:
    """The entries of a key, one for every axis of the tensor at least."""
    parts = [_entry(part) for part in (key if isinstance(key, tuple) else (key,))]
    used = sum(part.axes for part in parts if part is not None)
    if parts.count(None) > 1:
        raise IndexError("[getitem] an index can only have a single ellipsis ('...')")
    if used > x.ndim:
        raise IndexError(
            f"[getitem] too many indices: the tensor has {x.ndim} axes, but {used} were indexed"
        )
    rest = [Entry("slice", value=slice(None)) for _ in range(x.ndim - used)]
    if None in parts:
        at = parts.index(None)
        parts[at : at + 1] = rest
    else:
        parts.extend(rest)
    entries = [part for part in parts if part is not None]
    axis = 0
    for entry in entries:
        entry.axis = axis
        if entry.kind == "mask":
            _check_mask(x, entry)
        axis += entry.axes
    return entries


def _entry(part: Any) -> Entry | None:
    """None stands for the ellipsis."""
    if part is Ellipsis:
        return None
    if part is None:
        return Entry("new")
    if isinstance(part, slice):
        return Entry("slice", value=part)
    if isinstance(part, (bool, np.bool_)):
        return Entry("mask", value=np.asarray(part))
    if not isinstance(part, (Tensor, np.ndarray, list, tuple)):
        try:
            return Entry("item", value=operator.index(part))
        except TypeError:
            pass
    array = part if isinstance(part, Tensor) else np.asarray(part)
    if isinstance(array, np.ndarray) and array.size == 0 and not isinstance(part, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind == "b":
        return Entry("mask", value=array)
    if array.dtype.kind not in "iu":
        raise IndexError(
            "[getitem] only integers, slices, ellipsis, None and integer or boolean arrays are "
            f"valid indices, not {type(part).__name__} of dtype {array.dtype}"
        )
    if array.ndim == 0 and isinstance(array, np.ndarray):
        return Entry("item", value=int(array))
    return Entry("array", value=array)


def _check_mask(x: Tensor, entry: Entry) -> None:
    for number, extent in enumerate(entry.value.shape):
        own = x.shape[entry.axis + number]
        if own == own and extent == extent and own != extent:
            raise IndexError(
                f"[getitem] a mask of size {extent} does not fit axis {entry.axis + number} with "
                f"size {own}"
            )


def bounds(x: Tensor, entries: list[Entry]) -> dict[str, list[int]]:
    """The parameters of the operator "slice" for the slices and items among the entries."""
    start, stop, step = [OPEN] * x.ndim, [OPEN] * x.ndim, [1] * x.ndim
    items = []
    for entry in entries:
        if entry.kind == "item":
            start[entry.axis] = entry.value
            items.append(entry.axis)
        elif entry.kind == "slice":
            chosen = entry.value
            start[entry.axis] = _bound(chosen.start)
            stop[entry.axis] = _bound(chosen.stop)
            step[entry.axis] = 1 if chosen.step is None else max(_bound(chosen.step), OPEN + 1)
            if step[entry.axis] == 0:
                raise ValueError("[getitem] the step of a slice must not be zero")
    return {"start": start, "stop": stop, "step": step, "items": items}


def _bound(value: Any) -> int:
    if value is None:
        return OPEN
    if isinstance(value, Tensor):
        value = value.to_numpy()[()]
    return min(max(operator.index(value), OPEN + 1), 2**63 - 1)


def is_whole(entry: Entry) -> bool:
    return entry.kind == "slice" and entry.value in (slice(None), slice(None, None, 1))


def sliced(x: Tensor, entries: list[Entry]) -> Tensor:
    """With the slices among the entries applied; axes of items vanish."""
    if all(is_whole(entry) for entry in entries if entry.kind in ("slice", "item")):
        return x
    return apply("slice", [x], **bounds(x, entries))


@dataclass
class Positions:
    """Integer arrays for some axes of a tensor, all of one shape."""

    axes: list[int]
    arrays: list[Tensor]
    at: int  # before which of the other axes theirs come
    shape: tuple[int, ...]

    def parameters(self) -> dict[str, Any]:
        return {"axes": self.axes, "at": self.at}


def positions(x: Tensor, entries: list[Entry]) -> Positions:
    """The arrays, masks and items of a key as integer arrays."""
    axes: list[int] = []
    arrays: list[Any] = []
    kinds = [entry.kind in ("array", "mask", "item") for entry in entries]
    first, last = kinds.index(True), len(kinds) - 1 - kinds[::-1].index(True)
    together = all(kinds[first : last + 1])
    at = sum(entry.kind == "slice" for entry in entries[:first]) if together else 0
    for entry in entries:
        if entry.kind == "mask":
            axes.extend(range(entry.axis, entry.axis + entry.axes))
            arrays.extend(_nonzero(entry.value))
        elif entry.kind in ("array", "item"):
            axes.append(entry.axis)
            arrays.append(entry.value)
    arrays = [
        _checked(array, x.shape[axis], axis) for array, axis in zip(arrays, axes, strict=True)
    ]
    shape, tensors = _alike(arrays)
    return Positions(axes, tensors, at, shape)


def _nonzero(mask: Any) -> list[Any]:
    if isinstance(mask, np.ndarray):
        return list(np.nonzero(mask))
    from muster.tensor._indexing import nonzero

    return list(nonzero(mask))


def _checked(array: Any, extent: int, axis: int) -> Any:
    if isinstance(array, Tensor):
        return array if array.dtype == np.int64 else apply("astype", [array], dtype=np.dtype("i8"))
    array = np.asarray(array)
    if extent == extent and array.size:  # a known size
        low, high = array.min(), array.max()
        if high >= extent or low < -extent:
            wrong = int(high) if high >= extent else int(low)
            raise IndexError(
                f"[getitem] index {wrong} is out of bounds for axis {axis} with size {extent}"
            )
    return array.astype(np.int64)


def _alike(arrays: list[Any]) -> tuple[tuple[int, ...], list[Tensor]]:
    """The arrays broadcast to one shape. Several of unknown sizes are computed at once."""
    unknown = [each for each in arrays if _is_unknown(each)]
    if unknown:
        model = unknown[0]
        if model.ndim == 1 and all(each.ndim == 0 or _is_unknown(each) for each in arrays):
            filled = [_filled(each, model) if each.ndim == 0 else each for each in arrays]
            return model.shape, filled
        for each in unknown:
            each.execute()
    try:
        shape = np.broadcast_shapes(*(each.shape for each in arrays))
    except ValueError:
        shapes = " and ".join(str(each.shape) for each in arrays)
        raise IndexError(f"[getitem] index arrays do not broadcast together: {shapes}") from None
    tensors = []
    for each in arrays:
        if isinstance(each, np.ndarray):
            tensors.append(constant(np.broadcast_to(each, shape)))
        else:
            tensors.append(apply("broadcast_to", [each], shape=list(shape)))
    return shape, tensors


def _filled(number: Any, model: Tensor) -> Tensor:
    if isinstance(number, Tensor):
        return apply("choose", [apply("full_like", [model], value=np.bool_(False)), number])
    return apply("full_like", [model], value=np.int64(number))


def _is_unknown(array: Any) -> bool:
    return any(extent != extent for extent in array.shape)
