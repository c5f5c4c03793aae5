"""Methods of Tensor: repr, and what NumPy asks of array-likes."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from muster.tensor._corners import text_of

if TYPE_CHECKING:
    from muster.tensor._tensor import Tensor

#: What a ufunc's reduce and accumulate are called by themselves.
_REDUCE = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
_ACCUMULATE = {"add": "cumsum", "multiply": "cumprod"}


def _namespace(module: str) -> Any:
    """Our module for one of NumPy's or SciPy's."""
    import muster.tensor as mt

    if module in ("numpy", "numpy._core", "numpy.lib"):
        return mt
    name = module.rpartition(".")[2]
    return getattr(mt, name, None) if name in ("linalg", "fft", "random") else None


def _ufunc(ufunc: np.ufunc) -> Any:
    import muster.tensor as mt

    found = getattr(mt, ufunc.__name__, None)
    return found if found is not None else getattr(mt.special, ufunc.__name__, None)


class ProtocolMethods:
    """repr, and what NumPy asks of array-likes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return text_of(cast("Tensor", self), "array(")

    def __str__(self) -> str:
        return text_of(cast("Tensor", self), "")

    def __format__(self, spec: str) -> str:
        tensor = cast("Tensor", self)
        return format(self.item(), spec) if spec and tensor.ndim == 0 else format(str(self), spec)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        import muster.tensor as mt

        names = {"reduce": _REDUCE, "accumulate": _ACCUMULATE}
        if method == "__call__":
            function = _ufunc(ufunc)
        else:
            function = getattr(mt, names.get(method, {}).get(ufunc.__name__, ""), None)
            kwargs.setdefault("axis", 0)
        if function is None:
            return NotImplemented
        if out is not None:
            kwargs["out"] = out[0] if len(out) == 1 else out
        # Arrays cannot be written to before the result is there.
        if any(isinstance(each, np.ndarray) for each in out or ()):
            return NotImplemented
        return function(*inputs, **kwargs)

    def __array_function__(
        self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        function = getattr(_namespace(func.__module__), func.__name__, None)
        if function is None:
            name = f"{func.__module__}.{func.__name__}"
            raise TypeError(
                f"there is no {name} for tensors; to_numpy() gives an array that NumPy takes"
            )
        return function(*args, **kwargs)

    def _number(self, what: str) -> Any:
        tensor = cast("Tensor", self)
        if tensor.ndim and tensor.size != 1:
            raise TypeError(f"only tensors of one item can be made {what}, not of {tensor.shape}")
        return tensor.to_numpy().reshape(())[()]

    def __bool__(self) -> bool:
        tensor = cast("Tensor", self)
        if not tensor._handle.is_executed and not all(n == n for n in tensor.shape):
            tensor.execute()
        if tensor.size != 1:
            raise ValueError(
                "the truth value of a tensor of several items is ambiguous; use any() or all()"
            )
        return bool(self._number("a truth value"))

    def __float__(self) -> float:
        return float(self._number("a float"))

    def __int__(self) -> int:
        return int(self._number("an int"))

    def __complex__(self) -> complex:
        return complex(self._number("a complex number"))

    def __index__(self) -> int:
        tensor = cast("Tensor", self)
        if tensor.ndim or tensor.dtype.kind not in "iu":
            raise TypeError("only whole numbers can be an index, and only without axes")
        return operator.index(self._number("an index"))

    def item(self, *args: Any) -> Any:
        """An item as a number of Python; computes the tensor unless that was done."""
        return cast("Tensor", self).to_numpy().item(*args)

    def tolist(self) -> Any:
        """The items as nested lists; computes the tensor unless that was done."""
        return cast("Tensor", self).to_numpy().tolist()

    def map_chunk(self, func: Any, args: tuple[Any, ...] = (), **options: Any) -> Tensor:
        """`func(chunk, *args)` on each chunk; see `muster.tensor.map_chunk`."""
        from muster.tensor._functions import map_chunk

        known = ("dtype", "elementwise", "with_chunk_index")
        kwargs = {name: options.pop(name) for name in list(options) if name not in known}
        return map_chunk(func, self, *args, kwargs=kwargs, **options)
