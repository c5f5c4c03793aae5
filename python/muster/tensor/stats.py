"""Tests and statistics, with the names of scipy.stats; SciPy computes them on whole tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from muster.tensor._call import as_tensor
from muster.tensor._functions import call_whole
from muster.tensor._scipy import needs_scipy, through_python
from muster.tensor._tensor import Tensor

__all__ = [
    "chisquare",
    "entropy",
    "ks_1samp",
    "ks_2samp",
    "power_divergence",
    "rankdata",
    "ttest_1samp",
    "ttest_ind",
    "ttest_ind_from_stats",
    "ttest_rel",
]


class TestResult(NamedTuple):
    """What a test gives."""

    statistic: Tensor
    pvalue: Tensor


def _reduced(tensors: Sequence[Tensor], axis: int | None) -> tuple[int, ...]:
    """The shape of a result for each place along the other axes."""
    shape = np.broadcast_shapes(*(each.shape for each in tensors))
    if axis is None:
        return ()
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"there is no axis {axis} in a tensor of {len(shape)} axes")
    axis %= len(shape)
    return shape[:axis] + shape[axis + 1 :]


def _reduced_each(tensors: Sequence[Tensor], axis: int | None) -> tuple[int, ...]:
    """Likewise for samples of different sizes."""
    return np.broadcast_shapes(*(_reduced([each], axis) for each in tensors))


def _test(
    func: Callable[..., Any], tensors: Sequence[Tensor], shape: tuple[int, ...]
) -> TestResult:
    def call(*arrays: Any) -> tuple[Any, Any]:
        result = func(*arrays)
        return np.asarray(result[0]).reshape(shape), np.asarray(result[1]).reshape(shape)

    call.__name__ = getattr(func, "__name__", "test")
    statistic, pvalue = call_whole(call, tensors, [np.float64] * 2, [shape] * 2)
    return TestResult(statistic, pvalue)


def _optional(*values: Any) -> tuple[list[Tensor], Callable[[Sequence[Any]], list[Any]]]:
    """Tensors of those that are not None, and how to put the arrays back among the Nones."""
    given = [each is not None for each in values]
    tensors = [as_tensor(each) for each in values if each is not None]

    def spread(arrays: Sequence[Any]) -> list[Any]:
        rest = iter(arrays)
        return [next(rest) if each else None for each in given]

    return tensors, spread


@through_python
def power_divergence(
    f_obs: Any,
    f_exp: Any = None,
    ddof: int = 0,
    axis: int | None = 0,
    lambda_: float | str | None = None,
) -> TestResult:
    """Whether frequencies are as expected: Cressie and Read's statistic."""
    by_scipy = needs_scipy("stats").power_divergence
    tensors, spread = _optional(f_obs, f_exp)

    def call(*arrays: Any) -> Any:
        observed, expected = spread(arrays)
        return by_scipy(observed, f_exp=expected, ddof=ddof, axis=axis, lambda_=lambda_)

    return _test(call, tensors, _reduced(tensors, axis))


@through_python
def chisquare(f_obs: Any, f_exp: Any = None, ddof: int = 0, axis: int | None = 0) -> TestResult:
    """Whether frequencies are as expected: Pearson's chi-square."""
    return power_divergence(f_obs, f_exp, ddof, axis, "pearson")


@through_python
def entropy(pk: Any, qk: Any = None, base: float | None = None, axis: int = 0) -> Tensor:
    """The entropy of frequencies, or their divergence from others."""
    by_scipy = needs_scipy("stats").entropy
    tensors, spread = _optional(pk, qk)

    def call(*arrays: Any) -> Any:
        first, second = spread(arrays)
        return by_scipy(first, second, base=base, axis=axis)

    return call_whole(call, tensors, [np.float64], [_reduced(tensors, axis)])[0]


@through_python
def rankdata(a: Any, method: str = "average", *, axis: int | None = None) -> Tensor:
    """The rank of each item."""
    by_scipy = needs_scipy("stats").rankdata
    tensor = as_tensor(a)
    shape = (tensor.size,) if axis is None else tensor.shape
    dtype = by_scipy(np.zeros(1), method=method).dtype
    return call_whole(lambda x: by_scipy(x, method=method, axis=axis), [tensor], [dtype], [shape])[
        0
    ]


@through_python
def ks_1samp(
    x: Any, cdf: Callable[..., Any], args: tuple[Any, ...] = (), **options: Any
) -> TestResult:
    """Kolmogorov and Smirnov's test of a sample against a distribution."""
    by_scipy = needs_scipy("stats").ks_1samp
    return _test(lambda items: by_scipy(items, cdf, args, **options), [as_tensor(x)], ())


@through_python
def ks_2samp(data1: Any, data2: Any, **options: Any) -> TestResult:
    """Kolmogorov and Smirnov's test of two samples."""
    by_scipy = needs_scipy("stats").ks_2samp
    tensors = [as_tensor(data1), as_tensor(data2)]
    return _test(lambda a, b: by_scipy(a, b, **options), tensors, ())


@through_python
def ttest_1samp(a: Any, popmean: Any, axis: int | None = 0, **options: Any) -> TestResult:
    """Whether a sample has this mean."""
    by_scipy = needs_scipy("stats").ttest_1samp
    tensor = as_tensor(a)
    return _test(
        lambda items: by_scipy(items, popmean, axis=axis, **options),
        [tensor],
        _reduced([tensor], axis),
    )


@through_python
def ttest_ind(
    a: Any, b: Any, axis: int | None = 0, equal_var: bool = True, **options: Any
) -> TestResult:
    """Whether two independent samples have one mean."""
    by_scipy = needs_scipy("stats").ttest_ind
    tensors = [as_tensor(a), as_tensor(b)]
    return _test(
        lambda x, y: by_scipy(x, y, axis=axis, equal_var=equal_var, **options),
        tensors,
        _reduced_each(tensors, axis),
    )


@through_python
def ttest_rel(a: Any, b: Any, axis: int | None = 0, **options: Any) -> TestResult:
    """Whether two related samples have one mean."""
    by_scipy = needs_scipy("stats").ttest_rel
    tensors = [as_tensor(a), as_tensor(b)]
    return _test(
        lambda x, y: by_scipy(x, y, axis=axis, **options), tensors, _reduced(tensors, axis)
    )


@through_python
def ttest_ind_from_stats(
    mean1: Any,
    std1: Any,
    nobs1: Any,
    mean2: Any,
    std2: Any,
    nobs2: Any,
    equal_var: bool = True,
    alternative: str = "two-sided",
) -> TestResult:
    """`ttest_ind` of samples of which only the statistics are known."""
    by_scipy = needs_scipy("stats").ttest_ind_from_stats
    tensors = [as_tensor(each) for each in (mean1, std1, nobs1, mean2, std2, nobs2)]
    shape = np.broadcast_shapes(*(each.shape for each in tensors))
    return _test(
        lambda *numbers: by_scipy(*numbers, equal_var=equal_var, alternative=alternative),
        tensors,
        shape,
    )
