"""Methods of Tensor: reshape, transpose, indexing and their like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from muster.tensor._indexing import FlatItems
    from muster.tensor._tensor import Tensor


class ShapeMethods:
    """reshape, transpose, indexing and their like."""

    __slots__ = ()

    @property
    def T(self) -> Tensor:
        """The axes in reverse order."""
        return self.transpose()

    @property
    def flat(self) -> FlatItems:
        """The items in C order, to read and to write."""
        from muster.tensor._indexing import FlatItems

        return FlatItems(self._self())

    @property
    def nbytes(self) -> int:
        """The bytes of all items."""
        return self._self().size * self._self().dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes of one item."""
        return self._self().dtype.itemsize

    def _self(self) -> Tensor:
        return cast("Tensor", self)

    def __getitem__(self, key: Any) -> Tensor:
        from muster.tensor._indexing import getitem

        return getitem(self._self(), key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from muster.tensor._indexing import setitem

        self._self()._handle = setitem(self._self(), key, value)._handle

    def __iter__(self) -> Iterator[Tensor]:
        if not self._self().ndim:
            raise TypeError("iteration over a tensor without axes")
        return (self[number] for number in range(len(self._self())))

    def reshape(self, *shape: Any, order: str = "C") -> Tensor:
        """The items in order as another shape; one extent may be -1."""
        from muster.tensor import _shape

        chosen = shape[0] if len(shape) == 1 else shape
        return _shape.reshape(self, chosen, order)

    def ravel(self, order: str = "C") -> Tensor:
        """All items along one axis."""
        from muster.tensor import _shape

        return _shape.ravel(self, order)

    def flatten(self, order: str = "C") -> Tensor:
        """All items along one axis."""
        return self.ravel(order)

    def transpose(self, *axes: Any) -> Tensor:
        """The axes in another order, reversed if none are given."""
        from muster.tensor import _shape

        chosen = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return _shape.transpose(self, chosen)

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """Two axes change places."""
        from muster.tensor import _shape

        return _shape.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Tensor:
        """Without axes of extent one."""
        from muster.tensor import _shape

        return _shape.squeeze(self, axis)

    def repeat(self, repeats: Any, axis: int | None = None) -> Tensor:
        """Each item several times."""
        from muster.tensor import _shape

        return _shape.repeat(self, repeats, axis)

    def copy(self, order: str = "C") -> Tensor:
        """A tensor of the same items; assignments to one do not change the other."""
        from muster.tensor import _shape

        return _shape.copy(self, order)

    def rechunk(self, chunk_size: Any) -> Tensor:
        """The same items in other chunks: a number, one for each axis, or the extents of each axis;
        a dict names some axes only."""
        from muster.tensor import _shape

        return _shape.rechunk(self, chunk_size)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        """The items on a diagonal of two axes."""
        from muster.tensor import _creation

        return _creation.diagonal(self, offset, axis1, axis2)

    def take(self, indices: Any, axis: int | None = None, mode: str = "raise") -> Tensor:
        """The items at integer positions."""
        from muster.tensor import _indexing

        return _indexing.take(self, indices, axis, mode)

    def compress(self, condition: Any, axis: int | None = None) -> Tensor:
        """The items where a condition holds."""
        from muster.tensor import _indexing

        return _indexing.compress(condition, self, axis)

    def choose(self, choices: Any, mode: str = "raise") -> Tensor:
        """At each place the item of the choice whose number stands there."""
        from muster.tensor import _indexing

        return _indexing.choose(self, choices, mode)

    def nonzero(self) -> tuple[Tensor, ...]:
        """The positions along each axis of items that are not zero."""
        from muster.tensor import _indexing

        return _indexing.nonzero(self)
