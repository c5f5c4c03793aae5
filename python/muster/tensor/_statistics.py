"""Statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster.tensor import _reductions
from muster.tensor._call import apply, as_tensor, constant, operands
from muster.tensor._functions import call_whole
from muster.tensor._reductions import Axis, store
from muster.tensor._tensor import Tensor

__all__ = [
    "average",
    "bincount",
    "corrcoef",
    "cov",
    "digitize",
    "histogram",
    "histogram_bin_edges",
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "ptp",
    "quantile",
]


def _module() -> Any:
    """The functions of the other families, which are not there yet when this is imported."""
    import muster.tensor

    return muster.tensor


def ptp(a: Any, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False) -> Tensor:
    """The distance from the least to the greatest item along axes."""
    tensor = as_tensor(a)
    greatest = _reductions.max(tensor, axis=axis, keepdims=keepdims)
    least = _reductions.min(tensor, axis=axis, keepdims=keepdims)
    return store(apply("subtract", [greatest, least]), out)


def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The weighted mean along axes; with `returned` also the sum of the weights. Weights that sum
    up to zero give NaN or infinity: only the execution could tell."""
    tensor = as_tensor(a)
    if weights is None:
        mean = _reductions.mean(tensor, axis=axis, keepdims=keepdims)
        if not returned:
            return mean
        count = tensor.size / max(1, mean.size) if mean.size else 0.0
        return mean, apply("broadcast_to", [constant(mean.dtype.type(count))], shape=mean.shape)
    weight = as_tensor(weights)
    if weight.shape != tensor.shape:
        weight = _spread(weight, tensor, axis)
    dtype = np.result_type(tensor.dtype, weight.dtype)
    if tensor.dtype.kind in "biu":
        dtype = np.result_type(dtype, np.float64)
    scale = _reductions.sum(weight, axis=axis, dtype=dtype, keepdims=keepdims)
    product = apply("multiply", [tensor, weight])
    total = _reductions.sum(product, axis=axis, dtype=dtype, keepdims=keepdims)
    mean = apply("divide", [total, scale])
    return (mean, scale) if returned else mean


def _spread(weights: Tensor, tensor: Tensor, axis: Axis) -> Tensor:
    """Weights along some axes, made to broadcast over all."""
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
    axes = tuple(int(each) % tensor.ndim for each in axes)
    if weights.shape != tuple(tensor.shape[each] for each in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    weights = _module().transpose(weights, order)
    shape = [tensor.shape[each] if each in axes else 1 for each in range(tensor.ndim)]
    return apply("broadcast_to", [apply("reshape", [weights], shape=shape)], shape=tensor.shape)


def _covariance_input(m: Any, y: Any, rowvar: bool, dtype: Any) -> Tensor:
    tensor = as_tensor(m)
    if tensor.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    others = [] if y is None else [as_tensor(y)]
    if others and others[0].ndim > 2:
        raise ValueError("y has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(tensor.dtype, np.float64, *(each.dtype for each in others))
    rows = []
    for each in [tensor, *others]:
        each = apply("astype", [each], dtype=np.dtype(dtype)) if each.dtype != dtype else each
        if each.ndim < 2:
            each = apply("reshape", [each], shape=(1, each.size))
        elif not rowvar and each.shape[0] != 1:
            each = _module().transpose(each)
        rows.append(each)
    return rows[0] if len(rows) == 1 else _module().concatenate(rows, axis=0)


def _frequencies(weights: Any, count: int, name: str) -> NDArray[Any] | None:
    if weights is None:
        return None
    array = np.asarray(weights, dtype=float)
    if array.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if array.shape[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if (array < 0).any():
        raise ValueError(f"{name} cannot be negative")
    if name == "fweights" and not (array == np.around(array)).all():
        raise TypeError("fweights must be integer")
    return array


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Tensor:
    """The covariances of variables, which are rows (or columns) of observations."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = _covariance_input(m, y, rowvar, dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    count = x.shape[1]
    frequencies = _frequencies(fweights, count, "fweights")
    importance = _frequencies(aweights, count, "aweights")
    weights = frequencies
    if importance is not None:
        weights = importance if weights is None else weights * importance
    if weights is None:
        mean = _reductions.mean(x, axis=1, keepdims=True)
        factor = float(count - ddof)
    else:
        mean = average(x, axis=1, weights=weights, keepdims=True)
        total = float(weights.sum())
        factor = total - ddof
        if importance is not None and ddof:
            factor = total - ddof * float((weights * importance).sum()) / total
    factor = max(factor, 0.0)
    distance = apply("subtract", [x, mean])
    other = distance if weights is None else apply("multiply", operands(distance, weights))
    other = _module().transpose(other)
    if x.dtype.kind == "c":
        other = apply("conjugate", [other])
    products = _module().dot(distance, other)
    scaled = apply("multiply", operands(products, 1 / factor if factor else math.inf))
    return _squeezed(scaled)


def _squeezed(tensor: Tensor) -> Tensor:
    kept = [extent for extent in tensor.shape if extent != 1]
    return tensor if len(kept) == tensor.ndim else apply("reshape", [tensor], shape=kept)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    """The correlation coefficients of variables, which are rows (or columns) of observations."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return apply("divide", [c, c])
    deviations = apply("sqrt", [apply("real", [_module().diag(c)])])
    count = c.shape[0]
    c = apply("divide", [c, apply("reshape", [deviations], shape=(count, 1))])
    c = apply("divide", [c, apply("reshape", [deviations], shape=(1, count))])
    # Rounding must not make them greater than one.
    if c.dtype.kind == "c":
        return c
    return apply("minimum", operands(apply("maximum", operands(c, -1.0)), 1.0))


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each whole number from 0 comes, or the sum of its weights. The size is known when
    it is computed."""
    if not isinstance(x, Tensor):
        x = np.asarray(x)
        x = x.astype(np.int64) if x.size == 0 else x
    inputs = [as_tensor(x)] + ([] if weights is None else [as_tensor(weights)])
    return apply("bincount", inputs, minlength=int(minlength))


def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """In which bin each item is; the bins must go up or down."""
    if not isinstance(bins, Tensor):
        bins = np.asarray(bins)
        if bins.ndim == 1 and bins.size > 1:
            steps = np.diff(bins)
            if not ((steps >= 0).all() or (steps <= 0).all()):
                raise ValueError("bins must be monotonically increasing or decreasing")
    return apply("digitize", [as_tensor(x), as_tensor(bins)], right=bool(right))


_RULES = ("stone", "auto", "doane", "fd", "rice", "scott", "sqrt", "sturges")


def _range(limits: Sequence[float] | None) -> tuple[float, float] | None:
    if limits is None:
        return None
    first, last = (float(each) for each in limits)
    if first > last:
        raise ValueError("max must be larger than min in range parameter.")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    return first, last


def _count(tensor: Tensor) -> Tensor:
    if any(math.isnan(extent) for extent in tensor.shape):
        return _reductions.sum(_module().ones_like(tensor, dtype=np.int64))
    return constant(np.int64(tensor.size))


def _rule_inputs(rule: str, tensor: Tensor) -> list[Tensor]:
    if rule in ("auto", "fd"):
        upper, lower = quantile(tensor, 0.75), quantile(tensor, 0.25)
        return [apply("subtract", [upper, lower])]
    if rule in ("scott", "doane"):
        deviation = _reductions.std(tensor)
        if rule == "scott":
            return [deviation]
        distance = apply("subtract", [tensor, _reductions.mean(tensor)])
        scaled = apply("divide", [distance, deviation])
        cubes = apply("multiply", [apply("multiply", [scaled, scaled]), scaled])
        return [deviation, _reductions.mean(cubes)]
    return []


def _edges(a: Any, bins: Any, limits: Any, weights: Any) -> tuple[Tensor, Tensor, bool]:
    """The items, the edges of the bins, and whether those are evenly spaced."""
    tensor = as_tensor(a)
    if tensor.dtype.kind == "b":
        tensor = apply("astype", [tensor], dtype=np.dtype(np.uint8))
    if not isinstance(bins, (str, Tensor)) and np.ndim(bins) == 1:
        array = np.asarray(bins)
        if (array[:-1] > array[1:]).any():
            raise ValueError("`bins` must increase monotonically, when an array")
        return tensor, constant(array), False
    if isinstance(bins, Tensor) and bins.ndim == 1:
        return tensor, bins, False
    between = _range(limits)
    dtype = tensor.dtype if tensor.dtype.kind == "f" else np.dtype(np.float64)
    parameters: dict[str, Any] = {"dtype": dtype}
    if between is not None:
        parameters.update(first=between[0], last=between[1])
    sample = tensor
    if isinstance(bins, str):
        if bins not in _RULES:
            raise ValueError(f"{bins!r} is not a valid estimator for `bins`")
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        if bins == "stone":  # it tries many histograms, so it must see the items now
            return tensor, constant(np.histogram_bin_edges(tensor.to_numpy(), bins, between)), True
        parameters.update(rule=bins, whole=tensor.dtype.kind in "iu")
        if between is not None:
            sample = _within(tensor, between)
    elif np.ndim(bins) != 0:
        raise ValueError("`bins` must be 1d, when an array")
    else:
        try:
            count = int(bins.__index__())
        except AttributeError as error:
            raise TypeError("`bins` must be an integer, a string, or an array") from error
        if count < 1:
            raise ValueError("`bins` must be positive, when an integer")
        parameters.update(count=count)
    return tensor, _spaced(sample, bins, parameters), True


def _spaced(sample: Tensor, bins: Any, parameters: dict[str, Any]) -> Tensor:
    ruled = isinstance(bins, str)
    if (not ruled and "first" in parameters) or 0 in sample.shape:
        inputs = [constant(np.int64(0))] * 3
    else:
        inputs = [_count(sample), _reductions.min(sample), _reductions.max(sample)]
        if ruled:
            inputs += _rule_inputs(bins, sample)
    return apply("histogram_edges", inputs, **parameters)


def _within(tensor: Tensor, limits: tuple[float, float]) -> Tensor:
    keep = apply(
        "logical_and",
        [
            apply("greater_equal", operands(tensor, limits[0])),
            apply("less_equal", operands(tensor, limits[1])),
        ],
    )
    return tensor[keep]


def histogram_bin_edges(
    a: Any, bins: Any = 10, range: Sequence[float] | None = None, weights: Any = None
) -> Tensor:
    """The edges that `histogram` uses. By a rule, their number is known when they are computed."""
    return _edges(a, bins, range, weights)[1]


def histogram(
    a: Any,
    bins: Any = 10,
    range: Sequence[float] | None = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Tensor, Tensor]:
    """How many items (or what weight) are in each bin, and the edges of the bins."""
    tensor, edges, uniform = _edges(a, bins, range, weights)
    inputs = [tensor, edges]
    if weights is not None:
        weights = as_tensor(weights)
        if weights.shape != tensor.shape:
            raise ValueError("weights should have the same shape as a.")
        inputs.append(weights)
    counts = apply("histogram_count", inputs, uniform=uniform)
    if density:
        widths = apply("astype", [_module().diff(edges)], dtype=np.dtype(np.float64))
        total = _reductions.sum(counts)
        return apply("divide", [apply("divide", [counts, widths]), total]), edges
    if weights is not None and weights.dtype != counts.dtype:
        counts = apply("astype", [counts], dtype=weights.dtype)
    return counts, edges


def _quantiles(
    a: Any,
    q: Any,
    scale: float,
    axis: Axis,
    out: Tensor | None,
    method: str,
    keepdims: bool,
    weights: Any,
    skip_nan: bool,
) -> Tensor:
    tensor = as_tensor(a)
    if isinstance(q, Tensor):
        q = q.to_numpy()
    wanted = np.asarray(np.asanyarray(q, dtype=np.float64) / scale)
    if not ((wanted >= 0) & (wanted <= 1)).all():
        what = "Percentiles must be in the range [0, 100]"
        raise ValueError(what if scale != 1 else "Quantiles must be in the range [0, 1]")
    # NumPy itself says which dtype comes out of this dtype, method and kind of `q`.
    function = np.quantile if scale == 1 else np.percentile
    if weights is not None:
        found = _weighted_quantiles(tensor, wanted, axis, method, keepdims, weights, skip_nan)
        return store(found, out)
    probe = function(np.ones(1, tensor.dtype), q, method=method)  # type: ignore[call-overload]
    return store(
        apply(
            "quantile",
            [tensor],
            q=np.ascontiguousarray(wanted).reshape(wanted.shape),
            axis=_reductions._axes(axis),
            keepdims=bool(keepdims),
            method=method,
            skip_nan=skip_nan,
            dtype=np.asarray(probe).dtype,
        ),
        out,
    )


def _weighted_quantiles(
    a: Tensor,
    q: NDArray[Any],
    axis: Axis,
    method: str,
    keepdims: bool,
    weights: Any,
    skip_nan: bool,
) -> Tensor:
    """NumPy computes them, in one chunk: no other order of the items would do."""
    weights = as_tensor(weights)
    given = range(a.ndim) if axis is None else axis
    axes = np.lib.array_utils.normalize_axis_tuple(given, a.ndim, "axis")
    if weights.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if weights.shape != tuple(a.shape[each] for each in axes):
            raise ValueError(
                "Shape of weights must be consistent with shape of a along specified axis."
            )
    function: Any = np.nanquantile if skip_nan else np.quantile
    options = {"method": method, "keepdims": bool(keepdims)}
    ones = np.ones(1, a.dtype)
    dtype = function(ones, q, weights=np.ones(1), **options).dtype
    shape = [*q.shape]
    for number, extent in enumerate(a.shape):
        if number not in axes or keepdims:
            shape.append(1 if number in axes else extent)

    def call(items: Any, scales: Any) -> Any:
        return function(items, q, axis=axis, weights=scales, **options)

    return call_whole(call, [a, weights], [dtype], [shape])[0]


def quantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """The quantiles `q` (0 to 1) along axes; the axes of `q` come first."""
    return _quantiles(a, q, 1, axis, out, method, keepdims, weights, False)


def percentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """The percentiles `q` (0 to 100) along axes; the axes of `q` come first."""
    return _quantiles(a, q, 100, axis, out, method, keepdims, weights, False)


def nanquantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """The quantiles of the items that are numbers."""
    return _quantiles(a, q, 1, axis, out, method, keepdims, weights, True)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """The percentiles of the items that are numbers."""
    return _quantiles(a, q, 100, axis, out, method, keepdims, weights, True)


def _median(a: Any, axis: Axis, out: Tensor | None, keepdims: bool, skip_nan: bool) -> Tensor:
    tensor = as_tensor(a)
    dtype = tensor.dtype if tensor.dtype.kind == "f" else np.dtype(np.float64)
    return store(
        apply(
            "quantile",
            [tensor],
            q=np.array(0.5),
            axis=_reductions._axes(axis),
            keepdims=bool(keepdims),
            method="median",
            skip_nan=skip_nan,
            dtype=dtype,
        ),
        out,
    )


def median(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """The item in the middle along axes, or the mean of the two there."""
    return _median(a, axis, out, keepdims, False)


def nanmedian(
    a: Any,
    axis: Axis = None,
    out: Tensor | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """The median of the items that are numbers."""
    return _median(a, axis, out, keepdims, True)
