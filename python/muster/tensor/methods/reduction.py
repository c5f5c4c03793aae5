"""Methods of Tensor: sum, mean, max and their like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.tensor._tensor import Tensor


class ReductionMethods:
    """sum, mean, max and their like."""

    __slots__ = ()

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **more: Any) -> Tensor:
        """The sum of the items along axes."""
        from muster.tensor import _reductions

        return _reductions.sum(self, axis, dtype, out, **more)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, **more: Any) -> Tensor:
        """The product of the items along axes."""
        from muster.tensor import _reductions

        return _reductions.prod(self, axis, dtype, out, **more)

    def max(self, axis: Any = None, out: Any = None, **more: Any) -> Tensor:
        """The greatest item along axes."""
        from muster.tensor import _reductions

        return _reductions.max(self, axis, out, **more)

    def min(self, axis: Any = None, out: Any = None, **more: Any) -> Tensor:
        """The least item along axes."""
        from muster.tensor import _reductions

        return _reductions.min(self, axis, out, **more)

    def all(self, axis: Any = None, out: Any = None, **more: Any) -> Tensor:
        """Whether all items along axes are true."""
        from muster.tensor import _reductions

        return _reductions.all(self, axis, out, **more)

    def any(self, axis: Any = None, out: Any = None, **more: Any) -> Tensor:
        """Whether any item along axes is true."""
        from muster.tensor import _reductions

        return _reductions.any(self, axis, out, **more)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **more: Any) -> Tensor:
        """The arithmetic mean along axes."""
        from muster.tensor import _reductions

        return _reductions.mean(self, axis, dtype, out, **more)

    def var(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, **more: Any
    ) -> Tensor:
        """The variance along axes."""
        from muster.tensor import _reductions

        return _reductions.var(self, axis, dtype, out, ddof, **more)

    def std(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, **more: Any
    ) -> Tensor:
        """The standard deviation along axes."""
        from muster.tensor import _reductions

        return _reductions.std(self, axis, dtype, out, ddof, **more)

    def argmax(self, axis: int | None = None, out: Any = None, **more: Any) -> Tensor:
        """Where the greatest item is."""
        from muster.tensor import _reductions

        return _reductions.argmax(self, axis, out, **more)

    def argmin(self, axis: int | None = None, out: Any = None, **more: Any) -> Tensor:
        """Where the least item is."""
        from muster.tensor import _reductions

        return _reductions.argmin(self, axis, out, **more)

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
        """The sums of the items up to each."""
        from muster.tensor import _reductions

        return _reductions.cumsum(self, axis, dtype, out)

    def cumprod(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
        """The products of the items up to each."""
        from muster.tensor import _reductions

        return _reductions.cumprod(self, axis, dtype, out)

    def ptp(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Tensor:
        """The distance from the least to the greatest item along axes."""
        from muster.tensor import _statistics

        return _statistics.ptp(self, axis, out, keepdims)
