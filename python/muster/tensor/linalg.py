"""Linear algebra, with the names of numpy.linalg."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from muster.tensor._call import apply, apply_many, as_tensor
from muster.tensor._functions import call_whole
from muster.tensor._products import dot, inner, innerproduct, matmul, tensordot, vdot
from muster.tensor._tensor import Tensor

__all__ = [
    "LinAlgError",
    "cholesky",
    "det",
    "dot",
    "eigh",
    "eigvalsh",
    "inner",
    "innerproduct",
    "inv",
    "lstsq",
    "lu",
    "matmul",
    "norm",
    "pinv",
    "qr",
    "randomized_svd",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "vdot",
]

LinAlgError = np.linalg.LinAlgError


class QRResult(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


def cholesky(a: Any, lower: bool | None = None, *, upper: bool = False) -> Tensor:
    """L with a = L @ L^H; with `upper` or `lower=False` its adjoint, the upper triangle. Reads the
    lower triangle of `a` only."""
    factor = apply("cholesky", [as_tensor(a)])
    return _adjoint(factor) if upper or lower is False else factor


def lu(a: Any) -> tuple[Tensor, Tensor, Tensor]:
    """p, l and u with a = p @ l @ u: a permutation, a unit lower and an upper triangle, as
    scipy.linalg.lu gives them."""
    p, lower, upper = apply_many("lu", [as_tensor(a)])
    return p, lower, upper


def qr(a: Any, mode: str = "reduced", method: str | None = None) -> Any:
    """q and r with a = q @ r. `mode` is "reduced", "complete" or "r"; "raw" gives the reflectors of
    LAPACK and their scales, made in one chunk. `method` is there for callers who name one: tall
    matrices are cut by rows, others by columns in any case."""
    if method not in (None, "tsqr", "sfqr"):
        raise ValueError(f"[qr] there is no method {method!r}; they are 'tsqr' and 'sfqr'")
    if mode == "raw":
        return _raw_qr(as_tensor(a))
    factors = apply_many("qr", [as_tensor(a)], mode=mode)
    return factors[0] if mode == "r" else QRResult(*factors)


def _raw_qr(a: Tensor) -> tuple[Tensor, Tensor]:
    if a.ndim < 2:
        raise LinAlgError(f"[qr] a matrix has two axes at least, not {a.ndim}")
    *batch, rows, columns = a.shape
    dtype = np.linalg.qr(np.ones((1, 1), a.dtype), "raw")[0].dtype
    shapes = [(*batch, columns, rows), (*batch, min(rows, columns))]
    reflectors, scales = call_whole(
        lambda array: np.linalg.qr(array, "raw"), [a], [dtype, dtype], shapes
    )
    return reflectors, scales


def svd(a: Any, full_matrices: bool = False, compute_uv: bool = True, method: str = "tsqr") -> Any:
    """U, S and Vh with a = U @ diag(S) @ Vh.

    U and Vh have as many columns and rows as S has items; NumPy's default, square ones, needs
    `full_matrices=True`, and puts the matrix into one chunk. Tall and wide matrices are cut along
    their long axis.
    """
    if method != "tsqr":
        raise ValueError(f"[svd] there is no method {method!r} but 'tsqr'")
    if not compute_uv:
        return svdvals(a)
    return SVDResult(*apply_many("svd", [as_tensor(a)], full_matrices=bool(full_matrices)))


def svdvals(x: Any) -> Tensor:
    """The singular values, descending."""
    return apply("svdvals", [as_tensor(x)])


def randomized_svd(
    a: Any,
    n_components: int,
    n_oversamples: int = 10,
    n_iter: int | str = "auto",
    power_iteration_normalizer: str = "auto",
    transpose: bool | str = "auto",
    flip_sign: bool = True,
    random_state: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest singular values and their vectors, approximately: the matrix is multiplied with
    few random vectors, and what they span is factored (Halko, Martinsson, Tropp 2009)."""
    if power_iteration_normalizer not in ("auto", "QR", "LU", "none"):
        raise ValueError(
            f"[randomized_svd] unknown power_iteration_normalizer {power_iteration_normalizer!r}"
        )
    a = as_tensor(a)
    rows, columns = a.shape
    flipped = rows < columns if transpose == "auto" else bool(transpose)
    m = _adjoint(a) if flipped else a
    if n_iter == "auto":
        n_iter = 7 if n_components < 0.1 * min(a.shape) else 4
    generator = (
        random_state
        if isinstance(random_state, np.random.RandomState)
        else np.random.RandomState(random_state)
    )
    width = min(n_components + n_oversamples, min(a.shape))
    span = matmul(m, generator.normal(size=(m.shape[1], width)).astype(_inexact(a.dtype)))
    for _ in range(int(n_iter)):
        span = qr(span)[0]
        span = matmul(m, qr(matmul(_adjoint(m), span))[0])
    q = qr(span)[0]
    u_small, s, vh = svd(matmul(_adjoint(q), m))
    u = matmul(q, u_small)
    if flipped:
        u, vh = _adjoint(vh), _adjoint(u)
    u, vh = u[:, :n_components], vh[:n_components]
    if flip_sign:
        from muster.tensor import _reductions, _ufuncs

        # The item of each column of u that is largest is made positive.
        largest = _reductions.max(u.real, axis=0)
        least = _reductions.min(u.real, axis=0)
        signs = _ufuncs.where(largest + least < 0, -1.0, 1.0).astype(_real(a.dtype))
        u, vh = u * signs, vh * signs[:, None]
    return u, s[:n_components], vh


def solve(a: Any, b: Any, sym_pos: bool = False) -> Tensor:
    """x with a @ x = b, by elimination with row exchanges. `sym_pos`: `a` is known to be Hermitian
    and positive definite."""
    if not sym_pos:
        return apply("solve", [as_tensor(a), as_tensor(b)])
    factor = cholesky(a)
    return solve_triangular(_adjoint(factor), solve_triangular(factor, b, lower=True))


def solve_triangular(
    a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False
) -> Tensor:
    """x with a @ x = b for a triangle `a`; what lies beyond its diagonal is not read. `trans`: 1 or
    "T" for the transpose of `a`, 2 or "C" for its adjoint."""
    a = as_tensor(a)
    if trans not in (0, "N", 1, "T", 2, "C"):
        raise ValueError(f"[solve_triangular] trans is {trans!r}, but must be 0, 1, 2, N, T or C")
    if trans in (1, "T"):
        a, lower = _transposed(a), not lower
    elif trans in (2, "C"):
        a, lower = _adjoint(a), not lower
    return apply(
        "solve_triangular", [a, as_tensor(b)], lower=bool(lower), unit_diagonal=bool(unit_diagonal)
    )


def inv(a: Any) -> Tensor:
    """The inverse of a matrix, or of each matrix of a stack."""
    return apply("inv", [as_tensor(a)])


def pinv(a: Any, rcond: float | None = None) -> Tensor:
    """The inverse of Moore and Penrose: singular values that are at most `rcond` times the largest
    count as zero."""
    from muster.tensor import _reductions, _ufuncs

    a = as_tensor(a)
    u, s, vh = svd(a)
    if rcond is None:
        rcond = 1e-15
    large = s > rcond * _reductions.max(s, axis=-1, keepdims=True)
    inverse = _ufuncs.where(large, 1 / _ufuncs.where(large, s, 1), 0).astype(s.dtype)
    scaled = apply("expand_dims", [inverse], axis=[-1]) * _adjoint(u)
    return matmul(_adjoint(vh), scaled)


def lstsq(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """x that makes the length of b - a @ x least, and the singular values of `a`. Unlike NumPy's it
    gives neither residuals nor the rank, whose sizes depend on the items."""
    a = as_tensor(a)
    return matmul(pinv(a, np.finfo(_inexact(a.dtype)).eps * max(a.shape)), b), svdvals(a)


def det(a: Any) -> Tensor:
    """The determinant."""
    return apply("det", [as_tensor(a)])


def slogdet(a: Any) -> SlogdetResult:
    """The sign of the determinant, and the logarithm of its absolute value."""
    return SlogdetResult(*apply_many("slogdet", [as_tensor(a)]))


def eigh(a: Any, UPLO: str = "L") -> EighResult:  # noqa: N803
    """Eigenvalues, ascending, and eigenvectors of a Hermitian matrix; reads one triangle only."""
    if UPLO.upper() not in ("L", "U"):
        raise ValueError(f"[eigh] UPLO is {UPLO!r}, but must be 'L' or 'U'")
    return EighResult(*apply_many("eigh", [as_tensor(a)], lower=UPLO.upper() == "L"))


def eigvalsh(a: Any, UPLO: str = "L") -> Tensor:  # noqa: N803
    """Eigenvalues of a Hermitian matrix, ascending."""
    return eigh(a, UPLO).eigenvalues


def norm(
    x: Any,
    ord: Any = None,  # noqa: A002
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The norm of vectors or matrices: every `ord` of numpy.linalg.norm."""
    x = as_tensor(x)
    if x.dtype.kind not in "fc":
        x = x.astype(float)
    if axis is None:
        if ord is None or (ord in ("fro", "f") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            return _root_of_squares(x, None, keepdims)
        axes: tuple[int, ...] = tuple(range(x.ndim))
    else:
        given = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
        axes = tuple(np.lib.array_utils.normalize_axis_tuple(given, x.ndim, "axis"))
    if len(axes) == 1:
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError(f"[norm] is of vectors or matrices, not over axes {axes}")
    return _matrix_norm(x, ord, axes, keepdims)


def _root_of_squares(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    from muster.tensor import _reductions, _ufuncs

    squares = x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x
    return _ufuncs.sqrt(_reductions.sum(squares, axis=axis, keepdims=keepdims))


def _vector_norm(x: Tensor, order: Any, axis: int, keepdims: bool) -> Tensor:
    from muster.tensor import _reductions, _ufuncs

    if order is None or order == 2:
        return _root_of_squares(x, axis, keepdims)
    if isinstance(order, str):
        raise ValueError(f"[norm] a vector has no norm of order {order!r}")
    if order == np.inf:
        return _reductions.max(_ufuncs.absolute(x), axis=axis, keepdims=keepdims)
    if order == -np.inf:
        return _reductions.min(_ufuncs.absolute(x), axis=axis, keepdims=keepdims)
    if order == 0:
        real = _real(x.dtype)
        return _reductions.sum((x != 0).astype(real), axis=axis, keepdims=keepdims)
    if order == 1:
        return _reductions.sum(_ufuncs.absolute(x), axis=axis, keepdims=keepdims)
    powers = _reductions.sum(_ufuncs.absolute(x) ** float(order), axis=axis, keepdims=keepdims)
    return powers ** (1.0 / float(order))


def _matrix_norm(x: Tensor, order: Any, axes: Sequence[int], keepdims: bool) -> Tensor:
    from muster.tensor import _reductions, _ufuncs

    rows, columns = axes
    if rows == columns:
        raise ValueError(f"[norm] the axes of a matrix differ: {tuple(axes)}")
    if order is None or order in ("fro", "f"):
        return _root_of_squares(x, (rows, columns), keepdims)
    extreme = _reductions.min if order in (-1, -2, -np.inf) else _reductions.max
    if order in (1, -1, np.inf, -np.inf):
        first, second = (rows, columns) if order in (1, -1) else (columns, rows)
        sums = _reductions.sum(_ufuncs.absolute(x), axis=first, keepdims=True)
        result = extreme(sums, axis=second, keepdims=True)
    elif order in (2, -2, "nuc"):
        others = [each for each in range(x.ndim) if each not in axes]
        values = svdvals(apply("transpose", [x], axes=[*others, rows, columns]))
        folded = (_reductions.sum if order == "nuc" else extreme)(values, axis=-1)
        result = apply("expand_dims", [folded], axis=sorted(axes))
    else:
        raise ValueError(f"[norm] a matrix has no norm of order {order!r}")
    return result if keepdims else apply("squeeze", [result], axis=list(axes))


def _transposed(a: Tensor) -> Tensor:
    order = [*range(a.ndim - 2), a.ndim - 1, a.ndim - 2]
    return apply("transpose", [a], axes=order)


def _adjoint(a: Tensor) -> Tensor:
    flipped = _transposed(a)
    return flipped.conjugate() if a.dtype.kind == "c" else flipped


def _inexact(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.kind in "fc" else np.dtype(float)


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.zeros((), _inexact(dtype)).real.dtype
