"""Methods of Tensor: sort, dot and their like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.tensor._tensor import Tensor


class OrderingMethods:
    """sort, dot and their like."""

    __slots__ = ()

    if TYPE_CHECKING:
        _handle: Any

    def dot(self, b: Any, out: Tensor | None = None) -> Tensor:
        """The product with `b`: see `muster.tensor.dot`."""
        from muster.tensor._products import dot

        return dot(self, b, out=out)

    def sort(self, axis: int = -1, kind: str | None = None, order: Any = None) -> None:
        """Sorts it, so that it stands for its items in ascending order from now on."""
        from muster.tensor._sorting import sort

        self._handle = sort(self, axis=axis, kind=kind, order=order)._handle

    def argsort(self, axis: int | None = -1, kind: str | None = None, order: Any = None) -> Tensor:
        """The places of the items in ascending order."""
        from muster.tensor._sorting import argsort

        return argsort(self, axis=axis, kind=kind, order=order)

    def partition(
        self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
    ) -> None:
        """Partitions it: see `muster.tensor.partition`."""
        from muster.tensor._sorting import partition

        self._handle = partition(self, kth, axis=axis, kind=kind, order=order)._handle

    def argpartition(
        self, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
    ) -> Tensor:
        """The places of the items in the order of `partition`."""
        from muster.tensor._sorting import argpartition

        return argpartition(self, kth, axis=axis, kind=kind, order=order)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
        """Where items would go in it; it is sorted."""
        from muster.tensor._sorting import searchsorted

        return searchsorted(self, v, side=side, sorter=sorter)
