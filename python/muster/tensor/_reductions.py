"""Reductions along axes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from muster.tensor._call import apply, as_tensor, constant, operands
from muster.tensor._tensor import Tensor

__all__ = [
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "array_equal",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "max",
    "mean",
    "min",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "product",
    "std",
    "sum",
    "var",
]

Axis = int | Sequence[int] | None
#: Says that a parameter was left away, where None means something.
_MISSING: Any = object()


def store(result: Tensor, out: Tensor | None) -> Tensor:
    """The result, or `out` made to stand for it."""
    if out is None:
        return result
    if not isinstance(out, Tensor):
        raise TypeError(f"out must be a Tensor, not {type(out).__name__}")
    if out.shape != result.shape:
        raise ValueError(f"out has the shape {out.shape}, but the result {result.shape}")
    if result.dtype != out.dtype:
        if not np.can_cast(result.dtype, out.dtype, "same_kind"):
            raise TypeError(f"a result of {result.dtype} cannot be stored as {out.dtype}")
        result = apply("astype", [result], dtype=out.dtype)
    out._handle = result._handle
    return out


def _axes(axis: Axis) -> Any:
    if axis is None or isinstance(axis, tuple):
        return axis
    if isinstance(axis, (list, np.ndarray)):
        raise TypeError(f"axis must be an integer or a tuple of integers, not {axis!r}")
    return operator.index(axis)  # type: ignore[arg-type]


def _reduce(
    name: str,
    a: Any,
    axis: Axis,
    keepdims: bool = False,
    dtype: Any = None,
    **parameters: Any,
) -> Tensor:
    axes = _axes(axis)
    tensor = as_tensor(a)
    if dtype is not None:
        dtype = np.dtype(dtype)
    return apply(name, [tensor], axis=axes, keepdims=bool(keepdims), dtype=dtype, **parameters)


def _with_initial(
    name: str,
    joined_by: str,
    nothing: Any,
    a: Any,
    axis: Axis,
    dtype: Any,
    out: Tensor | None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Tensor:
    """A reduction that has an identity (`nothing`): masked items become it."""
    tensor = as_tensor(a)
    if where is not True and where is not None:
        fill = nothing(tensor.dtype) if callable(nothing) else nothing
        tensor = _masked(tensor, where, fill)
    result = _reduce(name, tensor, axis, keepdims, dtype, has_initial=initial is not None or None)
    if initial is not None:
        result = apply(joined_by, operands(result, initial))
    return store(result, out)


def _masked(tensor: Tensor, where: Any, fill: Any) -> Tensor:
    mask = as_tensor(where)
    if mask.dtype != np.bool_:
        raise TypeError(f"where must be of dtype bool, not {mask.dtype}")
    return apply("where", [mask, tensor, constant(np.asarray(fill).astype(tensor.dtype))])


def sum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The sum of the items along axes."""
    return _with_initial("sum", "add", 0, a, axis, dtype, out, keepdims, initial, where)


def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The product of the items along axes."""
    return _with_initial("prod", "multiply", 1, a, axis, dtype, out, keepdims, initial, where)


product = prod


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The sum of the items that are numbers."""
    return _with_initial("nansum", "add", 0, a, axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The product of the items that are numbers."""
    return _with_initial("nanprod", "multiply", 1, a, axis, dtype, out, keepdims, initial, where)


def _highest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return np.inf
    if dtype.kind == "c":
        return complex(np.inf, np.inf)
    return True if dtype.kind == "b" else np.iinfo(dtype).max


def _lowest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return -np.inf
    if dtype.kind == "c":
        return complex(-np.inf, -np.inf)
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def _extreme(
    name: str,
    joined_by: str,
    worst: Any,
    a: Any,
    axis: Axis,
    out: Tensor | None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Tensor:
    if where is not True and where is not None and initial is None:
        raise ValueError(f"[{name}] there is none of no items, so where= needs initial=")
    return _with_initial(name, joined_by, worst, a, axis, None, out, keepdims, initial, where)


def max(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The greatest item along axes."""
    return _extreme("max", "maximum", _lowest, a, axis, out, keepdims, initial, where)


def min(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The least item along axes."""
    return _extreme("min", "minimum", _highest, a, axis, out, keepdims, initial, where)


amax = max
amin = min


def nanmax(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The greatest item that is a number; NaN where there is none."""
    return _extreme("nanmax", "fmax", _lowest, a, axis, out, keepdims, initial, where)


def nanmin(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The least item that is a number; NaN where there is none."""
    return _extreme("nanmin", "fmin", _highest, a, axis, out, keepdims, initial, where)


def all(
    a: Any, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False, where: Any = True
) -> Tensor:
    """Whether all items along axes are true."""
    return _with_initial("all", "logical_and", 1, a, axis, None, out, keepdims, None, where)


def any(
    a: Any, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False, where: Any = True
) -> Tensor:
    """Whether any item along axes is true."""
    return _with_initial("any", "logical_or", 0, a, axis, None, out, keepdims, None, where)


def _counted(a: Tensor, axis: Axis, keepdims: bool, where: Any) -> Tensor:
    mask = apply("broadcast_to", [as_tensor(where)], shape=a.shape)
    return sum(mask, axis=axis, keepdims=keepdims)


def _mean(
    name: str, a: Any, axis: Axis, dtype: Any, out: Tensor | None, keepdims: bool, where: Any
) -> Tensor:
    tensor = as_tensor(a)
    if where is True or where is None:
        return store(_reduce(name, tensor, axis, keepdims, dtype), out)
    if dtype is None and tensor.dtype.kind in "biu":
        dtype = np.dtype(np.float64)
    if name == "nanmean" and tensor.dtype.kind in "fc":
        where = apply(
            "logical_and", [as_tensor(where), apply("logical_not", [apply("isnan", [tensor])])]
        )
    total = sum(tensor, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    count = _counted(tensor, axis, keepdims, where)
    mean = apply("divide", operands(total, count))
    return store(
        mean if mean.dtype == total.dtype else apply("astype", [mean], dtype=total.dtype), out
    )


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """The arithmetic mean along axes."""
    return _mean("mean", a, axis, dtype, out, keepdims, where)


def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """The arithmetic mean of the items that are numbers."""
    return _mean("nanmean", a, axis, dtype, out, keepdims, where)


def _variance(
    name: str,
    a: Any,
    axis: Axis,
    dtype: Any,
    out: Tensor | None,
    ddof: float,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: Any,
) -> Tensor:
    if correction is not _MISSING:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    tensor = as_tensor(a)
    if mean is _MISSING and (where is True or where is None):
        return store(_reduce(name, tensor, axis, keepdims, dtype, ddof=float(ddof)), out)
    if mean is _MISSING:
        mean = globals()["nanmean" if name.startswith("nan") else "mean"](
            tensor, axis=axis, dtype=dtype, keepdims=True, where=where
        )
    distance = apply("absolute", [apply("subtract", operands(tensor, mean))])
    if dtype is not None:
        distance = apply("astype", [distance], dtype=np.dtype(dtype))
    squares = apply("multiply", [distance, distance])
    if where is True or where is None:
        where = constant(True)
    if name.startswith("nan"):
        where = apply(
            "logical_and", [as_tensor(where), apply("logical_not", [apply("isnan", [squares])])]
        )
    total = sum(squares, axis=axis, keepdims=keepdims, where=where)
    count = apply(
        "maximum",
        operands(apply("subtract", operands(_counted(tensor, axis, keepdims, where), ddof)), 0),
    )
    result = apply("divide", operands(total, count))
    if result.dtype != total.dtype:
        result = apply("astype", [result], dtype=total.dtype)
    return store(apply("sqrt", [result]) if name.endswith("std") else result, out)


def var(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = _MISSING,
    correction: Any = _MISSING,
) -> Tensor:
    """The variance along axes; `ddof` is taken off the number of items."""
    return _variance("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def std(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = _MISSING,
    correction: Any = _MISSING,
) -> Tensor:
    """The standard deviation along axes; `ddof` is taken off the number of items."""
    return _variance("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = _MISSING,
    correction: Any = _MISSING,
) -> Tensor:
    """The variance of the items that are numbers."""
    return _variance("nanvar", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Tensor | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = _MISSING,
    correction: Any = _MISSING,
) -> Tensor:
    """The standard deviation of the items that are numbers."""
    return _variance("nanstd", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """How many items along axes are not zero."""
    return _reduce("count_nonzero", a, axis, keepdims)


def _place(name: str, a: Any, axis: int | None, out: Tensor | None, keepdims: bool) -> Tensor:
    if axis is not None and not isinstance(axis, (int, np.integer)):
        raise TypeError(f"[{name}] axis must be one integer, not {axis!r}")
    return store(_reduce(name, a, axis, keepdims), out)


def argmax(
    a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """Where the greatest item is: the first of them, and before all the first NaN."""
    return _place("argmax", a, axis, out, keepdims)


def argmin(
    a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """Where the least item is: the first of them, and before all the first NaN."""
    return _place("argmin", a, axis, out, keepdims)


def nanargmax(
    a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """Where the greatest item is that is a number. The execution fails if there is none."""
    return _place("nanargmax", a, axis, out, keepdims)


def nanargmin(
    a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False
) -> Tensor:
    """Where the least item is that is a number. The execution fails if there is none."""
    return _place("nanargmin", a, axis, out, keepdims)


def _scan(name: str, a: Any, axis: int | None, dtype: Any, out: Tensor | None) -> Tensor:
    dtype = None if dtype is None else np.dtype(dtype)
    axis = None if axis is None else int(axis)
    return store(apply(name, [as_tensor(a)], axis=axis, dtype=dtype), out)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """The sums of the items up to each, along an axis or (None) of all in C order."""
    return _scan("cumsum", a, axis, dtype, out)


def cumprod(
    a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """The products of the items up to each, along an axis or (None) of all in C order."""
    return _scan("cumprod", a, axis, dtype, out)


def nancumsum(
    a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Like cumsum, with NaN as zero."""
    return _scan("nancumsum", a, axis, dtype, out)


def nancumprod(
    a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Like cumprod, with NaN as one."""
    return _scan("nancumprod", a, axis, dtype, out)


def allclose(
    a: Any, b: Any, rtol: float = 1.0e-5, atol: float = 1.0e-8, equal_nan: bool = False
) -> Tensor:
    """Whether all items of both are nearly the same; a tensor of one bool."""
    from muster import tensor

    return all(tensor.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Tensor:
    """Whether both have the same shape and the same items; a tensor of one bool."""
    first, second = as_tensor(a1), as_tensor(a2)
    if first.shape != second.shape:
        return constant(False)
    same = apply("equal", [first, second])
    if equal_nan and first.dtype.kind in "fcmM" and second.dtype.kind in "fcmM":
        nan = "isnat" if first.dtype.kind in "mM" else "isnan"
        both = apply("logical_and", [apply(nan, [first]), apply(nan, [second])])
        same = apply("logical_or", [same, both])
    return all(same)
