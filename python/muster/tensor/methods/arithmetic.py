"""Methods of Tensor: operators and element-wise methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from muster.tensor._tensor import Tensor


def _call(name: str, *arguments: Any, out: Any = None) -> Any:
    """An operator on tensors and what stands beside them; Python asks the other operand about
    what is no number."""
    if any(each is None or isinstance(each, (str, bytes)) for each in arguments):
        return NotImplemented
    from muster.tensor import _elementwise

    return _elementwise.call(name, *arguments, out=out)


def _power(x: Any, y: Any, out: Any = None) -> Any:
    if any(each is None or isinstance(each, (str, bytes)) for each in (x, y)):
        return NotImplemented
    from muster.tensor import _elementwise

    result = _elementwise.power(x, y)
    return result if out is None else _elementwise.store("power", result, out)


def _matmul(x: Any, y: Any) -> Tensor:
    from muster.tensor._call import apply, as_tensor

    return apply("matmul", [as_tensor(x), as_tensor(y)])


class ArithmeticMethods:
    """Operators and element-wise methods."""

    __slots__ = ()
    #: Tensors are compared item by item, so only the same one is the same key.
    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Tensor:
        return _call("add", self, other)  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> Tensor:
        return _call("add", other, self)  # type: ignore[no-any-return]

    def __iadd__(self, other: Any) -> Tensor:
        return _call("add", self, other, out=self)  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Tensor:
        return _call("subtract", self, other)  # type: ignore[no-any-return]

    def __rsub__(self, other: Any) -> Tensor:
        return _call("subtract", other, self)  # type: ignore[no-any-return]

    def __isub__(self, other: Any) -> Tensor:
        return _call("subtract", self, other, out=self)  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Tensor:
        return _call("multiply", self, other)  # type: ignore[no-any-return]

    def __rmul__(self, other: Any) -> Tensor:
        return _call("multiply", other, self)  # type: ignore[no-any-return]

    def __imul__(self, other: Any) -> Tensor:
        return _call("multiply", self, other, out=self)  # type: ignore[no-any-return]

    def __truediv__(self, other: Any) -> Tensor:
        return _call("divide", self, other)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: Any) -> Tensor:
        return _call("divide", other, self)  # type: ignore[no-any-return]

    def __itruediv__(self, other: Any) -> Tensor:
        return _call("divide", self, other, out=self)  # type: ignore[no-any-return]

    def __floordiv__(self, other: Any) -> Tensor:
        return _call("floor_divide", self, other)  # type: ignore[no-any-return]

    def __rfloordiv__(self, other: Any) -> Tensor:
        return _call("floor_divide", other, self)  # type: ignore[no-any-return]

    def __ifloordiv__(self, other: Any) -> Tensor:
        return _call("floor_divide", self, other, out=self)  # type: ignore[no-any-return]

    def __mod__(self, other: Any) -> Tensor:
        return _call("remainder", self, other)  # type: ignore[no-any-return]

    def __rmod__(self, other: Any) -> Tensor:
        return _call("remainder", other, self)  # type: ignore[no-any-return]

    def __imod__(self, other: Any) -> Tensor:
        return _call("remainder", self, other, out=self)  # type: ignore[no-any-return]

    def __lshift__(self, other: Any) -> Tensor:
        return _call("left_shift", self, other)  # type: ignore[no-any-return]

    def __rlshift__(self, other: Any) -> Tensor:
        return _call("left_shift", other, self)  # type: ignore[no-any-return]

    def __ilshift__(self, other: Any) -> Tensor:
        return _call("left_shift", self, other, out=self)  # type: ignore[no-any-return]

    def __rshift__(self, other: Any) -> Tensor:
        return _call("right_shift", self, other)  # type: ignore[no-any-return]

    def __rrshift__(self, other: Any) -> Tensor:
        return _call("right_shift", other, self)  # type: ignore[no-any-return]

    def __irshift__(self, other: Any) -> Tensor:
        return _call("right_shift", self, other, out=self)  # type: ignore[no-any-return]

    def __and__(self, other: Any) -> Tensor:
        return _call("bitwise_and", self, other)  # type: ignore[no-any-return]

    def __rand__(self, other: Any) -> Tensor:
        return _call("bitwise_and", other, self)  # type: ignore[no-any-return]

    def __iand__(self, other: Any) -> Tensor:
        return _call("bitwise_and", self, other, out=self)  # type: ignore[no-any-return]

    def __or__(self, other: Any) -> Tensor:
        return _call("bitwise_or", self, other)  # type: ignore[no-any-return]

    def __ror__(self, other: Any) -> Tensor:
        return _call("bitwise_or", other, self)  # type: ignore[no-any-return]

    def __ior__(self, other: Any) -> Tensor:
        return _call("bitwise_or", self, other, out=self)  # type: ignore[no-any-return]

    def __xor__(self, other: Any) -> Tensor:
        return _call("bitwise_xor", self, other)  # type: ignore[no-any-return]

    def __rxor__(self, other: Any) -> Tensor:
        return _call("bitwise_xor", other, self)  # type: ignore[no-any-return]

    def __ixor__(self, other: Any) -> Tensor:
        return _call("bitwise_xor", self, other, out=self)  # type: ignore[no-any-return]

    def __pow__(self, other: Any) -> Tensor:
        return _power(self, other)  # type: ignore[no-any-return]

    def __rpow__(self, other: Any) -> Tensor:
        return _power(other, self)  # type: ignore[no-any-return]

    def __ipow__(self, other: Any) -> Tensor:
        return _power(self, other, out=self)  # type: ignore[no-any-return]

    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return self.__floordiv__(other), self.__mod__(other)

    def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return self.__rfloordiv__(other), self.__rmod__(other)

    def __matmul__(self, other: Any) -> Tensor:
        return _matmul(self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return _matmul(other, self)

    def __imatmul__(self, other: Any) -> Tensor:
        from muster.tensor import _elementwise

        return _elementwise.store("matmul", _matmul(self, other), self)

    def __neg__(self) -> Tensor:
        return _call("negative", self)  # type: ignore[no-any-return]

    def __pos__(self) -> Tensor:
        return _call("positive", self)  # type: ignore[no-any-return]

    def __abs__(self) -> Tensor:
        return _call("absolute", self)  # type: ignore[no-any-return]

    def __invert__(self) -> Tensor:
        return _call("invert", self)  # type: ignore[no-any-return]

    def __lt__(self, other: Any) -> Tensor:
        return _call("less", self, other)  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> Tensor:
        return _call("less_equal", self, other)  # type: ignore[no-any-return]

    def __gt__(self, other: Any) -> Tensor:
        return _call("greater", self, other)  # type: ignore[no-any-return]

    def __ge__(self, other: Any) -> Tensor:
        return _call("greater_equal", self, other)  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        return _call("equal", self, other)  # type: ignore[no-any-return]

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return _call("not_equal", self, other)  # type: ignore[no-any-return]

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Tensor:
        """The items as another dtype; itself if it is the same and `copy` is False."""
        from muster.tensor._call import apply

        wanted = np.dtype(dtype)
        if wanted == self.dtype and not copy:  # type: ignore[attr-defined]
            return self  # type: ignore[return-value]
        return apply("astype", [self], dtype=wanted, casting=casting)  # type: ignore[list-item]

    def round(self, decimals: int = 0, out: Any = None) -> Tensor:
        """Rounded to `decimals` places."""
        from muster.tensor import _ufuncs

        return _ufuncs.around(self, decimals, out)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Tensor:  # noqa: A002
        """Not below `min` and not above `max`."""
        from muster.tensor import _ufuncs

        return _ufuncs.clip(self, min, max, out)

    def conjugate(self) -> Tensor:
        """The complex conjugate."""
        return _call("conjugate", self)  # type: ignore[no-any-return]

    conj = conjugate

    @property
    def real(self) -> Tensor:
        """The real part."""
        return _call("real", self)  # type: ignore[no-any-return]

    @property
    def imag(self) -> Tensor:
        """The imaginary part."""
        return _call("imag", self)  # type: ignore[no-any-return]
