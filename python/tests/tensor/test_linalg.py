"""Factorizations, equations and norms, against NumPy and SciPy over dtypes and chunkings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import muster.tensor as mt
from muster.tensor._call import constant

DTYPES = ["f4", "f8", "c8", "c16", "i4"]


def sample(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "f8") -> Any:
    items = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        items = items + 1j * rng.standard_normal(shape)
    return (items * 10).astype(dtype) if dtype == "i4" else items.astype(dtype)


def chunked(rng: np.random.Generator, array: Any) -> mt.Tensor:
    if rng.random() < 0.3:
        return constant(array)
    return constant(array, chunk_size=[int(rng.integers(1, max(2, n + 1))) for n in array.shape])


def close(got: Any, wanted: Any, scale: float = 1.0) -> None:
    items = got.to_numpy() if isinstance(got, mt.Tensor) else np.asarray(got)
    wanted = np.asarray(wanted)
    assert items.shape == wanted.shape
    # Partial sums of float16 are rounded to float16, once a chunk.
    eps = {"f2": 1e-2, "f4": 1e-3, "c8": 1e-3}.get(items.dtype.str[1:], 1e-9)
    np.testing.assert_allclose(items, wanted, rtol=eps * scale, atol=eps * scale)


def definite(rng: np.random.Generator, n: int, dtype: str) -> Any:
    a = sample(rng, (n, n), "f8" if dtype == "i4" else dtype)
    a = a @ a.conj().T + n * np.eye(n)
    return np.round(a).astype(dtype) if dtype == "i4" else a.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 5, 23])
def test_cholesky(dtype: str, n: int, rng: np.random.Generator) -> None:
    a = definite(rng, n, dtype)
    got = mt.linalg.cholesky(chunked(rng, a))
    wanted = np.linalg.cholesky(a)
    assert got.dtype == wanted.dtype
    close(got, wanted)
    close(mt.linalg.cholesky(chunked(rng, a), upper=True), wanted.conj().T)


def test_large_blocks_are_cut_for_threads(rng: np.random.Generator) -> None:
    a = definite(rng, 500, "f8")
    close(mt.linalg.cholesky(constant(a)), np.linalg.cholesky(a))
    close(mt.linalg.inv(constant(a)), np.linalg.inv(a))
    b = rng.random((500, 300))
    close(mt.linalg.solve(constant(a), constant(b)), np.linalg.solve(a, b))
    p, lower, upper = mt.linalg.lu(constant(b))
    close(p.to_numpy() @ lower.to_numpy() @ upper.to_numpy(), b)
    q, r = mt.linalg.qr(constant(b))
    close(q.to_numpy() @ r.to_numpy(), b)
    close(np.tril(r.to_numpy(), -1), np.zeros((300, 300)))


@pytest.mark.parametrize("dtype", [*DTYPES, "f2", "u1", "?"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (40, 1), (37, 21), (300, 40)])
def test_products_of_a_tensor_with_itself(dtype: str, shape: Any, rng: np.random.Generator) -> None:
    small = dtype in ("f2", "u1", "?")
    a = rng.integers(0, 3, shape).astype(dtype) if small else sample(rng, shape, dtype)
    x = chunked(rng, a)
    close(mt.inner(x, x), np.inner(a, a))
    close(mt.tensordot(x, x, axes=(0, 0)), np.tensordot(a, a, axes=(0, 0)))
    close(mt.einsum("ij,kj->ki", x, x), np.einsum("ij,kj->ki", a, a))
    close(mt.tensordot(x, x, axes=([0, 1], [0, 1])), np.tensordot(a, a, axes=([0, 1], [0, 1])))
    if shape[0] == shape[1]:
        close(mt.tensordot(x, x, axes=(1, 0)), np.tensordot(a, a, axes=(1, 0)))
    stack = rng.random((5, *shape)).astype("f8")
    y = chunked(rng, stack)
    axes = ([1, 2], [1, 2])
    close(mt.tensordot(y, y, axes=axes), np.tensordot(stack, stack, axes=axes))


def test_a_large_tensor_with_itself_is_cut_for_threads(rng: np.random.Generator) -> None:
    a = rng.random((700, 300))
    for chunks in [None, 100, (700, 90), (130, 300)]:
        x = constant(a, chunk_size=chunks)
        got = mt.inner(x, x).to_numpy()
        close(got, a @ a.T)
        np.testing.assert_array_equal(got, got.T)


def test_cholesky_of_stacks(rng: np.random.Generator) -> None:
    a = np.stack([definite(rng, 4, "f8") for _ in range(6)]).reshape(2, 3, 4, 4)
    close(mt.linalg.cholesky(chunked(rng, a)), np.linalg.cholesky(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (9, 4), (4, 9), (20, 20)])
def test_lu(dtype: str, shape: Any, rng: np.random.Generator) -> None:
    a = sample(rng, shape, dtype)
    got = [each.to_numpy() for each in mt.linalg.lu(chunked(rng, a))]
    for one, wanted in zip(got, scipy.linalg.lu(a), strict=True):
        close(one, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(1, 1), (6, 6), (40, 3), (7, 4), (4, 7), (30, 30), (100, 10), (3, 50), (400, 150)]
)
def test_qr_multiplies_to_the_matrix(dtype: str, shape: Any, rng: np.random.Generator) -> None:
    a = sample(rng, shape, dtype)
    for mode in ["reduced", "complete"]:
        q, r = mt.linalg.qr(chunked(rng, a), mode=mode)
        wanted = np.linalg.qr(a, mode=mode)
        assert q.shape == wanted.Q.shape
        assert r.shape == wanted.R.shape
        assert q.dtype == wanted.Q.dtype
        close(q.to_numpy() @ r.to_numpy(), a.astype(q.dtype), 10)
        close(q.to_numpy().conj().T @ q.to_numpy(), np.eye(q.shape[1]))
        close(np.tril(r.to_numpy(), -1), np.zeros(r.shape))
    r = mt.linalg.qr(chunked(rng, a), mode="r").to_numpy()
    close(abs(r), abs(np.linalg.qr(a, mode="r")), 10)


def test_qr_gives_reflectors(rng: np.random.Generator) -> None:
    for shape in [(6, 4), (4, 6), (3, 5, 2)]:
        a = sample(rng, shape)
        for got, wanted in zip(
            mt.linalg.qr(chunked(rng, a), mode="raw"), np.linalg.qr(a, "raw"), strict=True
        ):
            assert got.shape == wanted.shape
            close(got, wanted)


def test_qr_of_stacks_and_of_nothing(rng: np.random.Generator) -> None:
    a = sample(rng, (3, 2, 5, 4))
    q, r = mt.linalg.qr(chunked(rng, a))
    close(q, np.linalg.qr(a).Q)
    close(r, np.linalg.qr(a).R)
    assert mt.linalg.qr(constant(np.ones((0, 3)))).Q.to_numpy().shape == (0, 0)
    assert mt.linalg.qr(constant(np.ones((3, 0)))).R.to_numpy().shape == (0, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (50, 3), (7, 4), (4, 7), (3, 60), (200, 10)])
def test_svd_multiplies_to_the_matrix(dtype: str, shape: Any, rng: np.random.Generator) -> None:
    a = sample(rng, shape, dtype)
    wanted = np.linalg.svd(a, full_matrices=False)
    u, s, vh = mt.linalg.svd(chunked(rng, a))
    assert u.shape == wanted.U.shape
    assert vh.shape == wanted.Vh.shape
    assert s.dtype == wanted.S.dtype
    close(s, wanted.S, 10)
    u, s, vh = mt.fetch(*mt.execute(u, s, vh))
    close((u * s) @ vh, a.astype(u.dtype), 10)
    close(u.conj().T @ u, np.eye(u.shape[1]))
    close(mt.linalg.svd(chunked(rng, a), compute_uv=False), wanted.S, 10)


def test_svd_with_square_factors_and_stacks(rng: np.random.Generator) -> None:
    a = sample(rng, (2, 5, 3))
    wanted = np.linalg.svd(a)
    u, s, vh = mt.linalg.svd(chunked(rng, a), full_matrices=True)
    close(s, wanted.S)
    assert u.shape == wanted.U.shape
    assert vh.shape == wanted.Vh.shape
    close(mt.linalg.svdvals(chunked(rng, a)), wanted.S)


@pytest.mark.parametrize("dtype", DTYPES)
def test_solve_inv_and_det(dtype: str, rng: np.random.Generator) -> None:
    for n in [1, 6, 17]:
        far_from_singular = 500 if dtype == "i4" else 20
        a = sample(rng, (n, n), dtype) + (np.eye(n) * far_from_singular).astype(dtype)
        for b in [sample(rng, (n,), dtype), sample(rng, (n, 5), dtype)]:
            got = mt.linalg.solve(chunked(rng, a), chunked(rng, b))
            wanted = np.linalg.solve(a, b)
            assert got.dtype == wanted.dtype
            close(got, wanted)
        close(mt.linalg.inv(chunked(rng, a)), np.linalg.inv(a))
        ratio = mt.linalg.det(chunked(rng, a)).to_numpy() / np.linalg.det(a)
        close(ratio, np.ones((), ratio.dtype))
        sign, logarithm = mt.linalg.slogdet(chunked(rng, a))
        close(sign, np.linalg.slogdet(a).sign)
        close(logarithm, np.linalg.slogdet(a).logabsdet)


def test_stacks_of_equations(rng: np.random.Generator) -> None:
    a, b = sample(rng, (4, 3, 3)), sample(rng, (4, 3, 2))
    close(mt.linalg.solve(chunked(rng, a), chunked(rng, b)), np.linalg.solve(a, b))
    close(mt.linalg.inv(chunked(rng, a)), np.linalg.inv(a))
    close(mt.linalg.det(chunked(rng, a)), np.linalg.det(a))


def test_solve_of_definite_and_triangular_matrices(rng: np.random.Generator) -> None:
    a = definite(rng, 12, "c16")
    b = sample(rng, (12, 3), "c16")
    close(mt.linalg.solve(chunked(rng, a), chunked(rng, b), sym_pos=True), np.linalg.solve(a, b))
    for lower in [False, True]:
        for unit in [False, True]:
            for right in [b, b[:, 0]]:
                got = mt.linalg.solve_triangular(
                    chunked(rng, a), chunked(rng, right), lower=lower, unit_diagonal=unit
                )
                close(got, scipy.linalg.solve_triangular(a, right, lower=lower, unit_diagonal=unit))
    for trans in [0, 1, 2]:
        got = mt.linalg.solve_triangular(chunked(rng, a), b, trans=trans, lower=True)
        close(got, scipy.linalg.solve_triangular(a, b, trans=trans, lower=True))


def test_eigenvalues_of_hermitian_matrices(rng: np.random.Generator) -> None:
    a = definite(rng, 7, "c16")
    values, vectors = mt.linalg.eigh(chunked(rng, a))
    close(values, np.linalg.eigvalsh(a))
    v = vectors.to_numpy()
    close(a @ v, v * values.to_numpy())
    close(mt.linalg.eigvalsh(chunked(rng, a), UPLO="U"), np.linalg.eigvalsh(a, UPLO="U"))


def test_pinv_and_lstsq(rng: np.random.Generator) -> None:
    a = sample(rng, (20, 4))
    close(mt.linalg.pinv(chunked(rng, a)), np.linalg.pinv(a))
    b = sample(rng, (20, 2))
    x, values = mt.linalg.lstsq(chunked(rng, a), chunked(rng, b))
    wanted = np.linalg.lstsq(a, b)
    close(x, wanted[0])
    close(values, wanted[3])


VECTOR_ORDERS = [None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf]
MATRIX_ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i4"])
@pytest.mark.parametrize("order", VECTOR_ORDERS)
def test_norms_of_vectors(dtype: str, order: Any, rng: np.random.Generator) -> None:
    x = sample(rng, (30,), dtype)
    x[x == 0] = 1
    got = mt.linalg.norm(chunked(rng, x), ord=order)
    close(got, np.linalg.norm(x, ord=order))
    y = sample(rng, (4, 5, 3), dtype)
    y[y == 0] = 1
    for keepdims in [False, True]:
        got = mt.linalg.norm(chunked(rng, y), ord=order, axis=1, keepdims=keepdims)
        wanted = np.linalg.norm(y, ord=order, axis=1, keepdims=keepdims)
        assert got.dtype == wanted.dtype
        close(got, wanted)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i4"])
@pytest.mark.parametrize("order", MATRIX_ORDERS)
def test_norms_of_matrices(dtype: str, order: Any, rng: np.random.Generator) -> None:
    x = sample(rng, (6, 5), dtype)
    close(mt.linalg.norm(chunked(rng, x), ord=order), np.linalg.norm(x, ord=order), 10)
    y = sample(rng, (4, 5, 3), dtype)
    for keepdims in [False, True]:
        got = mt.linalg.norm(chunked(rng, y), ord=order, axis=(2, 0), keepdims=keepdims)
        close(got, np.linalg.norm(y, ord=order, axis=(2, 0), keepdims=keepdims), 10)


def test_norm_without_order_flattens(rng: np.random.Generator) -> None:
    x = sample(rng, (4, 5, 3))
    close(mt.linalg.norm(chunked(rng, x)), np.linalg.norm(x))
    close(mt.linalg.norm(chunked(rng, x), keepdims=True), np.linalg.norm(x, keepdims=True))


def singular(call: Any) -> Any:
    return lambda: call(np.ones((3, 3))).to_numpy()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mt.linalg.cholesky(np.ones((2, 3))), np.linalg.LinAlgError, "square"),
        (lambda: mt.linalg.cholesky(np.ones(3)), np.linalg.LinAlgError, "matrix"),
        (singular(lambda a: mt.linalg.cholesky(-a)), np.linalg.LinAlgError, "positive definite"),
        (singular(mt.linalg.inv), np.linalg.LinAlgError, "singular"),
        (
            singular(lambda a: mt.linalg.solve(np.zeros((3, 3)), a)),
            np.linalg.LinAlgError,
            "singular",
        ),
        (
            singular(lambda a: mt.linalg.solve_triangular(np.zeros((3, 3)), a)),
            np.linalg.LinAlgError,
            "singular",
        ),
        (lambda: mt.linalg.solve(np.eye(3), np.ones(4)), ValueError, "3 and 4"),
        (lambda: mt.linalg.qr(np.eye(3), mode="full"), ValueError, "mode"),
        (lambda: mt.linalg.svd(np.eye(3).astype("f2")), TypeError, "float16"),
        (lambda: mt.linalg.norm(np.eye(3), ord="no"), ValueError, "no norm"),
        (lambda: mt.linalg.norm(np.ones(3), ord="fro"), ValueError, "no norm"),
        (lambda: mt.linalg.norm(np.ones((2, 2, 2)), ord=2), ValueError, "vectors or matrices"),
        (lambda: mt.linalg.eigh(np.eye(3), UPLO="x"), ValueError, "UPLO"),
    ],
)
def test_wrong_use_is_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
def test_randomized_svd_finds_the_largest_values(shape: Any, rng: np.random.Generator) -> None:
    a = sample(rng, (shape[0], 4)) @ sample(rng, (4, shape[1]))
    u, s, vh = mt.linalg.randomized_svd(chunked(rng, a), 4, random_state=0)
    close(s, np.linalg.svd(a, compute_uv=False)[:4])
    close((u.to_numpy() * s.to_numpy()) @ vh.to_numpy(), a)


def test_results_of_unknown_size_are_factored(rng: np.random.Generator) -> None:
    a = sample(rng, (20, 3))
    x = constant(a, chunk_size=(6, 3))
    kept = x[constant(np.arange(20) % 4 != 1, chunk_size=6)]
    wanted = a[np.arange(20) % 4 != 1]
    close(mt.linalg.svdvals(kept), np.linalg.svd(wanted, compute_uv=False))
    close(mt.matmul(kept, np.eye(3)), wanted)
    close(mt.sort(kept, axis=0), np.sort(wanted, axis=0))
