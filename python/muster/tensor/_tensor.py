"""The tensor: an array that is computed when somebody asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster import _core, session
from muster.tensor.methods.arithmetic import ArithmeticMethods
from muster.tensor.methods.ordering import OrderingMethods
from muster.tensor.methods.protocol import ProtocolMethods
from muster.tensor.methods.reduction import ReductionMethods
from muster.tensor.methods.shape import ShapeMethods


class Tensor(ArithmeticMethods, ReductionMethods, ShapeMethods, OrderingMethods, ProtocolMethods):
    """A lazy array in chunks. Made by the functions of `muster.tensor`, never directly."""

    __slots__ = ("_handle",)
    #: NumPy's operators leave the work to ours.
    __array_priority__ = 100.0

    def __init__(self, handle: _core.TensorHandle) -> None:
        self._handle = handle

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the items."""
        dtype: np.dtype[Any] = self._handle.dtype
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis; nan where it is known only after the execution."""
        shape: tuple[int, ...] = self._handle.shape
        return shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of items."""
        return int(np.prod(self.shape, dtype=object)) if self.ndim else 1

    def execute(
        self,
        session: session.Session | None = None,
        wait: bool = True,
        timeout: float | None = None,
        show_progress: bool | str | None = None,
    ) -> Any:
        """Computes it, and keeps the result. Gives itself; an `ExecutionInfo` with `wait=False`."""
        from muster.session import execute

        return execute(
            self, session=session, wait=wait, timeout=timeout, show_progress=show_progress
        )

    def fetch(self, session: session.Session | None = None) -> NDArray[Any]:
        """The items, once it was executed."""
        from muster.session import fetch

        array: NDArray[Any] = fetch(self, session=session)
        return array

    def to_numpy(self, session: session.Session | None = None) -> NDArray[Any]:
        """Computes it unless that was done, and gives the items."""
        if not self._handle.is_executed:
            self.execute(session)
        return self.fetch(session)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype, copy=bool(copy))

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a tensor without axes")
        return self.shape[0]
