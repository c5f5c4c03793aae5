"""Sorting, searching and sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from muster.tensor._call import apply, apply_many, as_tensor
from muster.tensor._functions import call_whole
from muster.tensor._joining import concatenate
from muster.tensor._tensor import Tensor

__all__ = [
    "argpartition",
    "argsort",
    "argtopk",
    "in1d",
    "intersect1d",
    "isin",
    "partition",
    "searchsorted",
    "setdiff1d",
    "setxor1d",
    "sort",
    "topk",
    "union1d",
    "unique",
]

_KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def sort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    parallel_kind: str | None = None,
    psrs_kinds: Any = None,
) -> Tensor:
    """The items along an axis in ascending order, NaN last. Every `kind` is the same here, and the
    last two parameters are not needed."""
    return apply("sort", [_along(a, axis)], axis=_number(axis, kind, order))


def argsort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    parallel_kind: str | None = None,
    psrs_kinds: Any = None,
) -> Tensor:
    """The places of the items in ascending order; equal items stay in their order."""
    return apply("argsort", [_along(a, axis)], axis=_number(axis, kind, order))


def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Tensor:
    """The items along an axis, those at places `kth` where sorting puts them, smaller ones before
    and others behind. Here all of them are sorted, which fulfils that."""
    a = _along(a, axis)
    _check_places("partition", a, kth, -1 if axis is None else axis, order)
    return apply("sort", [a], axis=-1 if axis is None else int(axis))


def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Tensor:
    """The places of the items in the order of `partition`."""
    a = _along(a, axis)
    _check_places("argpartition", a, kth, -1 if axis is None else axis, order)
    return apply("argsort", [a], axis=-1 if axis is None else int(axis))


def topk(
    a: Any,
    k: int,
    axis: int | None = -1,
    largest: bool = True,
    sorted: bool = True,  # noqa: A002
    order: Any = None,
    parallel_kind: str | None = None,
    psrs_kinds: Any = None,
) -> Tensor:
    """The `k` largest items along an axis, or the smallest: the first is the most extreme one."""
    a = _along(a, axis)
    return apply("topk", [a], k=int(k), axis=-1 if axis is None else int(axis), largest=largest)


def argtopk(
    a: Any,
    k: int,
    axis: int | None = -1,
    largest: bool = True,
    sorted: bool = True,  # noqa: A002
    order: Any = None,
    parallel_kind: str | None = None,
    psrs_kinds: Any = None,
) -> Tensor:
    """The places of what `topk` gives."""
    a = _along(a, axis)
    return apply("argtopk", [a], k=int(k), axis=-1 if axis is None else int(axis), largest=largest)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """The different items, in order; their number is known once it is executed. On request also
    where each is first, which of them each item is, and how often it comes. NaN are one item. With
    `axis`, the different slices along it, and with `equal_nan=False` NumPy finds them, in one
    chunk."""
    given = as_tensor(ar)
    if axis is not None or not equal_nan:
        return _unique_whole(
            given, (return_index, return_inverse, return_counts), axis, bool(equal_nan)
        )
    flat = _flat(given)
    values = apply("unique", [flat])
    results = [values]
    if return_index or return_counts:
        places, counts = apply_many("unique_places", [flat], places=return_index)
    if return_index:
        results.append(places)
    if return_inverse:
        results.append(apply("searchsorted", [values, given], one_nan=True))
    if return_counts:
        results.append(counts)
    return results[0] if len(results) == 1 else tuple(results)


def _unique_whole(
    given: Tensor, asked: tuple[bool, bool, bool], axis: int | None, equal_nan: bool
) -> Any:
    shape: tuple[int, ...] = (-1,)
    places: tuple[int, ...] = given.shape
    if axis is not None:
        number = np.lib.array_utils.normalize_axis_index(axis, given.ndim, "[unique] axis")
        shape = (*given.shape[:number], -1, *given.shape[number + 1 :])
        places = (given.shape[number],)

    def call(array: Any) -> Any:
        unique: Any = np.unique  # whose overloads know no flags that are decided later
        results = unique(array, *asked, axis=axis, equal_nan=equal_nan)
        if asked[1]:
            which = 1 + asked[0]
            results = (*results[:which], results[which].reshape(places), *results[which + 1 :])
        return results

    shapes = [shape] + [s for s, wanted in zip(((-1,), places, (-1,)), asked) if wanted]
    dtypes = [given.dtype] + [np.dtype(np.intp)] * (len(shapes) - 1)
    found = call_whole(call, [given], dtypes, shapes)
    return found[0] if len(found) == 1 else tuple(found)


def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, combine_size: int | None = None
) -> Tensor:
    """Where the items of `v` would go in the sorted `a`: before equal ones, or behind them with
    side="right". Without axes in `v` the result has none."""
    if side not in ("left", "right"):
        raise ValueError(f"[searchsorted] side is {side!r}, but must be 'left' or 'right'")
    a = as_tensor(a)
    if sorter is not None:
        a = a[as_tensor(sorter)]
    return apply("searchsorted", [a, as_tensor(v)], right=side == "right")


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each item of `element` is one of `test_elements`."""
    return apply("isin", [as_tensor(element), _flat(as_tensor(test_elements))], invert=bool(invert))


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """`isin` of the flattened items."""
    return isin(_flat(as_tensor(ar1)), ar2, invert=invert)


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The different items of `ar1` that are not in `ar2`, in order; in theirs if they are said to
    be unique."""
    ar1 = _flat(as_tensor(ar1))
    return _kept(ar1 if assume_unique else _distinct(ar1), ar2, invert=True).astype(ar1.dtype)


def union1d(ar1: Any, ar2: Any) -> Tensor:
    """The different items of both, in order."""
    return _distinct(_joined(ar1, ar2))


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The different items that are in both, in order."""
    return _kept(_distinct(ar1), ar2, invert=False)


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The different items that are in one of both only, in order."""
    first, second = _distinct(ar1), _distinct(ar2)
    return _distinct(_joined(_kept(first, second, True), _kept(second, first, True)))


def _distinct(items: Any) -> Tensor:
    return apply("unique", [_flat(as_tensor(items))])


def _kept(items: Tensor, test: Any, invert: bool) -> Tensor:
    return apply("keep_in_set", [items, _flat(as_tensor(test))], invert=invert)


def _joined(a: Any, b: Any) -> Tensor:
    return concatenate([_flat(as_tensor(a)), _flat(as_tensor(b))])


def _flat(a: Tensor) -> Tensor:
    return a if a.ndim == 1 else apply("reshape", [a], shape=[-1])


def _along(a: Any, axis: int | None) -> Tensor:
    a = as_tensor(a)
    return _flat(a) if axis is None else a


def _number(axis: int | None, kind: str | None, order: Any) -> int:
    if kind not in _KINDS:
        raise ValueError(f"sort kind must be one of {_KINDS[1:]}, not {kind!r}")
    _check_order(order)
    return -1 if axis is None else int(axis)


def _check_order(order: Any) -> None:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")


def _check_places(name: str, a: Tensor, kth: Any, axis: int, order: Any) -> None:
    _check_order(order)
    if not -a.ndim <= axis < a.ndim:
        return  # the operator says so
    extent = a.shape[axis]
    for each in np.atleast_1d(np.asarray(kth)):
        if not -extent <= each < extent:
            raise ValueError(f"[{name}] kth(={each}) out of bounds ({extent})")
