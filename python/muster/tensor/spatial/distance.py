"""Distances between points, with the names of scipy.spatial.distance; SciPy computes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from muster.tensor._call import as_tensor
from muster.tensor._functions import call_whole, map_pairs
from muster.tensor._scipy import needs_scipy, through_python
from muster.tensor._tensor import Tensor

__all__ = ["cdist", "pdist", "squareform"]


def _points(name: str, value: Any) -> Tensor:
    points = as_tensor(value)
    if points.ndim != 2:
        raise ValueError(f"[{name}] takes a matrix of points, not {points.ndim} axes")
    return points


@through_python
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", **kwargs: Any) -> Tensor:  # noqa: N803
    """The distance of each row of XA to each row of XB."""
    distance = needs_scipy("spatial.distance")
    a, b = _points("cdist", XA), _points("cdist", XB)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"[cdist] points have {a.shape[1]} and {b.shape[1]} coordinates")
    if metric in ("seuclidean", "mahalanobis") and not {"V", "VI"} & set(kwargs):
        # They depend on all points: V and VI would differ from chunk to chunk.
        return call_whole(
            lambda x, y: distance.cdist(x, y, metric, **kwargs),
            [a, b],
            [np.float64],
            [(a.shape[0], b.shape[0])],
        )[0]
    return map_pairs(lambda x, y: distance.cdist(x, y, metric, **kwargs), a, b, np.float64)


@through_python
def pdist(X: Any, metric: Any = "euclidean", **kwargs: Any) -> Tensor:  # noqa: N803
    """The distance of each pair of rows, as a vector."""
    distance = needs_scipy("spatial.distance")
    points = _points("pdist", X)
    count = points.shape[0]
    return call_whole(
        lambda x: distance.pdist(x, metric, **kwargs),
        [points],
        [np.float64],
        [(count * (count - 1) // 2,)],
    )[0]


@through_python
def squareform(X: Any, force: str = "no", checks: bool = True) -> Tensor:  # noqa: N803
    """The vector of `pdist` as a square matrix, or the matrix as a vector."""
    distance = needs_scipy("spatial.distance")
    tensor = as_tensor(X)
    # SciPy says what is wrong with a size.
    shape = distance.squareform(np.zeros(tensor.shape), force=force, checks=False).shape
    return call_whole(
        lambda x: distance.squareform(x, force=force, checks=checks),
        [tensor],
        [tensor.dtype],
        [shape],
    )[0]
