"""Parts of tensors: take, compress, nonzero and their like, and what brackets do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from muster.tensor._call import apply, apply_many, as_tensor
from muster.tensor._creation import ShapeLike, _cast, _shape
from muster.tensor._index_key import Entry, bounds, is_whole, parse_key, positions, sliced
from muster.tensor._index_tricks import c_, mgrid, ogrid, r_
from muster.tensor._tensor import Tensor

__all__ = [
    "argwhere",
    "c_",
    "choose",
    "compress",
    "extract",
    "fill_diagonal",
    "flatnonzero",
    "mgrid",
    "nonzero",
    "ogrid",
    "put_along_axis",
    "r_",
    "ravel_multi_index",
    "take",
    "take_along_axis",
    "unravel_index",
]


def getitem(x: Tensor, key: Any) -> Tensor:
    """What `x[key]` is, by NumPy's rules."""
    entries = parse_key(x, key)
    arrays = [entry for entry in entries if entry.kind in ("array", "mask")]
    if not arrays:
        return _with_new_axes(sliced(x, entries), entries, None)
    if len(arrays) == 1 and arrays[0].kind == "mask" and not _has_items(entries):
        mask = arrays[0].value
        if mask.ndim == 0 or isinstance(mask, Tensor):
            return _with_new_axes(_masked(sliced(x, entries), arrays[0]), entries, 1)
    found = positions(x, entries)
    base = sliced(x, [entry for entry in entries if entry.kind == "slice"])
    result = apply("gather", [base, *found.arrays], **found.parameters())
    return _with_new_axes(result, entries, len(found.shape))


def _has_items(entries: list[Entry]) -> bool:
    return any(entry.kind == "item" for entry in entries)


def _layout(entries: list[Entry], arrays: int | None) -> list[str]:
    """The axes of a result in order: "new", "slice", and "array" as often as the arrays have axes
    (None if there are none)."""
    kinds = [entry.kind for entry in entries]
    if arrays is None:
        return [kind for kind in kinds if kind in ("new", "slice")]
    is_array = [kind in ("array", "mask", "item") for kind in kinds]
    first, last = is_array.index(True), len(kinds) - 1 - is_array[::-1].index(True)
    before = kinds[:first] if all(is_array[first : last + 1]) else []
    rest = [kind for kind in kinds[len(before) :] if kind in ("new", "slice")]
    return [*before, *["array"] * arrays, *rest]


def _with_new_axes(result: Tensor, entries: list[Entry], arrays: int | None) -> Tensor:
    layout = _layout(entries, arrays)
    new = [axis for axis, kind in enumerate(layout) if kind == "new"]
    return apply("expand_dims", [result], axis=new) if new else Tensor(result._handle)


def _masked(x: Tensor, entry: Entry) -> Tensor:
    mask, axis = entry.value, entry.axis
    if mask.ndim == 0:
        x = apply("expand_dims", [x], axis=axis)
        mask = apply("expand_dims", [as_tensor(mask)], axis=0)
    elif mask.ndim > 1:
        x = apply("reshape", [x], shape=[*x.shape[:axis], -1, *x.shape[axis + mask.ndim :]])
        mask = apply("reshape", [mask], shape=[-1])
    return apply("compress", [x, mask], axis=axis)


def setitem(x: Tensor, key: Any, value: Any) -> Tensor:
    """The tensor that `x` is after `x[key] = value`."""
    entries = parse_key(x, key)
    new = _cast(as_tensor(value), x.dtype)
    arrays = [entry for entry in entries if entry.kind in ("array", "mask")]
    if not arrays:
        return _set_slice(x, entries, new)
    if len(arrays) == 1 and arrays[0].kind == "mask":
        plain = all(entry is arrays[0] or is_whole(entry) for entry in entries)
        chosen = _set_mask(x, arrays[0], new) if plain else None
        if chosen is None and arrays[0].value.ndim == 0:
            if new.size:
                raise ValueError(f"[setitem] items of shape {new.shape} do not fit {x.shape}")
            return x
        if chosen is not None:
            return chosen
    slices = [entry for entry in entries if entry.kind == "slice"]
    found = positions(x, entries)
    part = sliced(x, slices)
    target = apply("gather", [part, *found.arrays], **found.parameters())
    layout = _layout(entries, len(found.shape))
    shape = _placed_shape(target, layout)
    items = _without_new_axes(_fitted(new, shape, target), layout)
    part = apply("scatter", [part, items, *found.arrays], **found.parameters())
    if all(is_whole(entry) for entry in slices):
        return part
    return apply("set_slice", [x, part], **bounds(x, slices))


def _placed_shape(target: Tensor, layout: list[str]) -> tuple[int, ...]:
    extents = iter(target.shape)
    return tuple(1 if kind == "new" else next(extents) for kind in layout)


def _fitted(value: Tensor, shape: tuple[int, ...], target: Tensor | None = None) -> Tensor:
    """The new items in the shape of the place they go to."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = apply("squeeze", [value], axis=0)
    if any(extent != extent for extent in shape):
        if value.ndim == 0 and target is not None:
            nothing = apply("full_like", [target], value=np.bool_(False))
            return apply("choose", [nothing, value])
        return value
    try:
        return apply("broadcast_to", [value], shape=list(shape))
    except ValueError:
        raise ValueError(
            f"[setitem] items of shape {value.shape} do not broadcast to the place of shape {shape}"
        ) from None


def _without_new_axes(value: Tensor, layout: list[str]) -> Tensor:
    return apply("axes", [value], axes=[i for i, kind in enumerate(layout) if kind != "new"])


def _set_slice(x: Tensor, entries: list[Entry], value: Tensor) -> Tensor:
    target = sliced(x, entries)
    layout = _layout(entries, None)
    value = _fitted(value, _placed_shape(target, layout))
    # One axis for each of x: those of single items are new, the new ones of the key are left out.
    place = iter(i for i, kind in enumerate(layout) if kind == "slice")
    axes = [-1 if entry.kind == "item" else next(place) for entry in entries if entry.kind != "new"]
    value = apply("axes", [value], axes=axes)
    return apply("set_slice", [x, value], **bounds(x, entries))


def _set_mask(x: Tensor, entry: Entry, value: Tensor) -> Tensor | None:
    """Where the new items do not depend on how many are chosen, each place decides by itself."""
    mask = as_tensor(entry.value)
    after = x.ndim - entry.axis - mask.ndim
    while value.ndim > entry.axis + 1 + after and value.shape[0] == 1:
        value = apply("squeeze", [value], axis=0)
    if value.ndim > after:
        counted = value.ndim - after - 1
        if value.shape[counted] != 1 or value.ndim > after + 1 + entry.axis:
            return None
        ones = [1] * mask.ndim
        shape = [*value.shape[:counted], *ones, *value.shape[counted + 1 :]]
        value = apply("reshape", [value], shape=shape)
    if mask.ndim:
        mask = apply("expand_dims", [mask], axis=list(range(mask.ndim, mask.ndim + after)))
    try:
        result = apply("choose", [mask, x, value])
    except ValueError:
        result = None
    if result is None or result.ndim != x.ndim or result.shape != x.shape:
        if any(extent != extent for extent in x.shape) and result is not None:
            return result
        raise ValueError(
            f"[setitem] items of shape {value.shape} do not fit the masked part of shape {x.shape}"
        )
    return result


class FlatItems:
    """The items of a tensor in C order: what `x.flat` is."""

    def __init__(self, owner: Tensor) -> None:
        self._owner = owner

    def __getitem__(self, key: Any) -> Tensor:
        return getitem(apply("reshape", [self._owner], shape=[-1]), key)

    def __setitem__(self, key: Any, value: Any) -> None:
        flat = apply("reshape", [self._owner], shape=[-1])
        new = as_tensor(value)
        flat = setitem(flat, key, apply("reshape", [new], shape=[-1]) if new.ndim > 1 else new)
        self._owner._handle = apply("reshape", [flat], shape=self._owner.shape)._handle

    def __iter__(self) -> Iterator[Any]:
        return iter(self._owner.to_numpy().flat)

    def __len__(self) -> int:
        return self._owner.size


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Tensor:
    """The items at integer positions along an axis, of the flattened tensor without one."""
    x = as_tensor(a)
    if axis is None:
        x, axis = apply("reshape", [x], shape=[-1]), 0
    place = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    index = indices if isinstance(indices, Tensor) else np.asarray(indices)
    if index.size == 0 and index.dtype.kind == "f":
        index = index.astype(np.int64)
    if index.dtype.kind == "b":
        index = _cast(as_tensor(index), np.int64)
    if mode in ("wrap", "clip"):
        extent = x.shape[place]
        if isinstance(index, Tensor):
            if mode == "wrap":
                index = apply("remainder", [index, as_tensor(np.array(extent, index.dtype))])
            else:
                high = as_tensor(np.array(extent - 1, index.dtype))
                low = as_tensor(np.array(0, index.dtype))
                index = apply("maximum", [apply("minimum", [index, high]), low])
        else:
            index = index % extent if mode == "wrap" else np.clip(index, 0, extent - 1)
    elif mode != "raise":
        raise ValueError(f"[take] mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    return getitem(x, (slice(None),) * place + (index,))


def compress(condition: Any, a: Any, axis: int | None = None) -> Tensor:
    """The items of an axis, of the flattened tensor without one, where a condition holds."""
    x, mask = as_tensor(a), _cast(as_tensor(condition), bool)
    if mask.ndim != 1:
        raise ValueError("[compress] the condition must have one axis")
    if axis is None:
        x, axis = apply("reshape", [x], shape=[-1]), 0
    place = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    count, extent = mask.shape[0], x.shape[place]
    if count == count and extent == extent and count < extent:
        rest = (slice(None),) * place
        x = getitem(x, (*rest, slice(0, count)))
    return apply("compress", [x, mask], axis=place)


def extract(condition: Any, arr: Any) -> Tensor:
    """The items where a condition holds, in C order."""
    mask = apply("reshape", [as_tensor(condition)], shape=[-1])
    return compress(mask, apply("reshape", [as_tensor(arr)], shape=[-1]), 0)


def choose(a: Any, choices: Sequence[Any] | Tensor, mode: str = "raise") -> Tensor:
    """At each place the item of the choice whose number stands there."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"[choose] mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    tensors = [as_tensor(each) for each in choices]
    common = np.result_type(*(each.dtype for each in tensors))
    numbers = _cast(as_tensor(a), np.int64)
    return apply("choose", [numbers, *(_cast(each, common) for each in tensors)], mode=mode)


def flatnonzero(a: Any) -> Tensor:
    """The positions, in C order, of items that are not zero."""
    return apply("flatnonzero", [as_tensor(a)])


def nonzero(a: Any) -> tuple[Tensor, ...]:
    """The positions along each axis of items that are not zero."""
    x = as_tensor(a)
    if x.ndim == 0:
        raise ValueError("[nonzero] needs at least one axis; use atleast_1d")
    flat = apply("flatnonzero", [x])
    if x.ndim == 1:
        return (flat,)
    return tuple(apply_many("unravel_index", [flat], shape=_known_shape(x, "nonzero")))


def _known_shape(x: Tensor, name: str) -> list[int]:
    if any(math.isnan(extent) for extent in x.shape):
        x.execute()
    return list(x.shape)


def argwhere(a: Any) -> Tensor:
    """The positions of items that are not zero, one row for each."""
    x = as_tensor(a)
    if x.ndim == 0:
        return argwhere(apply("expand_dims", [x], axis=0))[:, :0]
    return apply("stack", list(nonzero(x)), axis=1)


def unravel_index(indices: Any, shape: ShapeLike, order: str = "C") -> tuple[Tensor, ...]:
    """Positions in a flattened array as positions along each axis."""
    index = _cast(as_tensor(indices), np.int64)
    return tuple(apply_many("unravel_index", [index], shape=list(_shape(shape)), order=order))


def ravel_multi_index(multi_index: Sequence[Any], dims: Sequence[int]) -> Tensor:
    """Positions along each axis as positions in the flattened array (C order)."""
    result: Tensor | None = None
    for index, extent in zip(multi_index, _shape(dims), strict=True):
        part = _cast(as_tensor(index), np.int64)
        if result is None:
            result = part
        else:
            scaled = apply("multiply", [result, as_tensor(np.int64(extent))])
            result = apply("add", [scaled, part])
    if result is None:
        raise ValueError("[ravel_multi_index] needs at least one axis")
    return result


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tensor:
    """The items at positions that differ from place to place along the other axes."""
    x, index, place = _along(arr, indices, axis)
    return apply("take_along_axis", [x, index], axis=place)


def put_along_axis(arr: Tensor, indices: Any, values: Any, axis: int | None) -> None:
    """Replaces the items at positions that differ along the other axes."""
    x, index, place = _along(arr, indices, axis)
    new = apply("broadcast_to", [_cast(as_tensor(values), x.dtype)], shape=list(index.shape))
    result = apply("put_along_axis", [x, index, new], axis=place)
    if axis is None:
        result = apply("reshape", [result], shape=list(arr.shape))
    arr._handle = result._handle


def _along(arr: Any, indices: Any, axis: int | None) -> tuple[Tensor, Tensor, int]:
    x, index = as_tensor(arr), as_tensor(indices)
    if index.dtype.kind not in "iu":
        raise IndexError("[take_along_axis] the indices must be integers")
    index = _cast(index, np.int64)
    if axis is None:
        if index.ndim != 1:
            raise ValueError("[take_along_axis] without an axis, the indices must have one")
        return apply("reshape", [x], shape=[-1]), index, 0
    if x.ndim != index.ndim:
        raise ValueError(f"[take_along_axis] {index.ndim} axes of indices for {x.ndim} axes")
    place = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    others = _other_extents(x, index, place)
    own, at = list(others), list(others)
    own[place], at[place] = x.shape[place], index.shape[place]
    x = apply("broadcast_to", [x], shape=own)
    return x, apply("broadcast_to", [index], shape=at), place


def _other_extents(x: Tensor, index: Tensor, place: int) -> list[int]:
    a, b = list(x.shape), list(index.shape)
    a[place] = b[place] = 1
    return list(np.broadcast_shapes(tuple(a), tuple(b)))


def fill_diagonal(a: Tensor, val: Any, wrap: bool = False) -> None:
    """Replaces the items on the main diagonal."""
    if a.ndim < 2:
        raise ValueError("[fill_diagonal] needs at least two axes")
    shape = a.shape
    if a.ndim > 2 and len(set(shape)) > 1:
        raise ValueError(f"[fill_diagonal] all axes must have the same extent, not {shape}")
    if a.ndim == 2:
        step = shape[1] + 1
        end = a.size if wrap else min(a.size, shape[1] * shape[1])
    else:
        step, end = 1 + int(np.cumprod(shape[:-1]).sum()), a.size
    count = len(range(0, end, step))
    value = as_tensor(val)
    if value.ndim:
        value = apply("reshape", [value], shape=[-1])
        value = getitem(value, np.arange(count) % value.shape[0])
    flat = setitem(apply("reshape", [a], shape=[-1]), slice(0, end, step), value)
    a._handle = apply("reshape", [flat], shape=list(shape))._handle
