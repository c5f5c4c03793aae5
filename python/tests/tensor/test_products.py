"""Products of matrices and vectors, against NumPy over dtypes, shapes and chunkings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import muster.tensor as mt
from muster.tensor._call import constant

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


def sample(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "f8") -> Any:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.3
    if kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    items = rng.standard_normal(shape)
    if kind == "c":
        items = items + 1j * rng.standard_normal(shape)
    return items.astype(dtype)


def chunked(rng: np.random.Generator, array: Any) -> mt.Tensor:
    if array.ndim == 0 or rng.random() < 0.2:
        return constant(array)
    return constant(array, chunk_size=[int(rng.integers(1, max(2, n + 1))) for n in array.shape])


def check(got: mt.Tensor, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    items = got.to_numpy()
    assert items.shape == wanted.shape
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(items, wanted)
        return
    digits = np.finfo(wanted.dtype).eps
    np.testing.assert_allclose(items, wanted, rtol=digits * 1e3, atol=float(digits) * 200)


MATMUL_SHAPES = [
    ((4, 5), (5, 6)),
    ((5,), (5, 6)),
    ((4, 5), (5,)),
    ((7,), (7,)),
    ((3, 4, 5), (5, 2)),
    ((3, 4, 5), (3, 5, 2)),
    ((2, 1, 4, 5), (3, 5, 2)),
    ((1, 4, 5), (6, 5, 1)),
    ((0, 5), (5, 3)),
    ((4, 0), (0, 3)),
    ((1, 1), (1, 1)),
    ((33, 65), (65, 17)),
]


@pytest.mark.parametrize("shapes", MATMUL_SHAPES)
def test_matmul_is_numpys_for_any_chunking(shapes: Any, rng: np.random.Generator) -> None:
    for dtype in ["i4", "f8", "c8"]:
        a, b = (sample(rng, shape, dtype) for shape in shapes)
        check(mt.matmul(chunked(rng, a), chunked(rng, b)), np.matmul(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_has_products(dtype: str, rng: np.random.Generator) -> None:
    a, b = sample(rng, (9, 12), dtype), sample(rng, (12, 7), dtype)
    check(chunked(rng, a) @ chunked(rng, b), a @ b)
    check(mt.inner(chunked(rng, a), chunked(rng, a)), np.inner(a, a))
    check(mt.dot(chunked(rng, a[0]), chunked(rng, a[1])), np.dot(a[0], a[1]))
    check(mt.tensordot(chunked(rng, a), chunked(rng, b), axes=1), np.tensordot(a, b, axes=1))


def test_dtypes_are_promoted(rng: np.random.Generator) -> None:
    for left, right in [("i4", "f4"), ("u8", "i8"), ("f4", "c8"), ("?", "i2"), ("f2", "f8")]:
        a, b = sample(rng, (3, 4), left), sample(rng, (4, 5), right)
        check(mt.matmul(chunked(rng, a), chunked(rng, b)), np.matmul(a, b))


def test_views_of_any_strides_are_read(rng: np.random.Generator) -> None:
    a = sample(rng, (20, 30))
    b = sample(rng, (20, 30))
    for left, right in [(a.T, b), (a[::-2], b.T), (a[:, ::3], b.T[::3]), (a[:, ::-1], b.T)]:
        check(constant(left) @ constant(right), left @ right)
    ones = np.broadcast_to(2.0, (30, 11))
    check(constant(a, chunk_size=7) @ constant(ones, chunk_size=4), a @ ones)
    packed = np.zeros(8, dtype=[("skip", "u1"), ("value", "f8")])
    packed["value"] = rng.random(8)
    check(mt.dot(packed["value"], packed["value"]), np.dot(packed["value"], packed["value"]))


@pytest.mark.parametrize(
    "shapes",
    [((4, 5), (5, 6)), ((2, 3, 4), (5, 4, 6)), ((4,), (3, 4, 2)), ((3, 4), (4,)), ((), (3, 2))],
)
def test_dot_sums_last_with_last_but_one(shapes: Any, rng: np.random.Generator) -> None:
    a, b = (sample(rng, shape) for shape in shapes)
    check(mt.dot(chunked(rng, a), chunked(rng, b)), np.dot(a, b))
    check(chunked(rng, a).dot(b), np.dot(a, b))


@pytest.mark.parametrize(
    "shapes", [((4, 5), (3, 5)), ((2, 3, 4), (5, 4)), ((4,), (4,)), ((), (2,))]
)
def test_inner_sums_over_the_last_axes(shapes: Any, rng: np.random.Generator) -> None:
    a, b = (sample(rng, shape) for shape in shapes)
    check(mt.inner(chunked(rng, a), chunked(rng, b)), np.inner(a, b))
    check(mt.innerproduct(chunked(rng, a), b), np.inner(a, b))


def test_vdot_conjugates_the_first(rng: np.random.Generator) -> None:
    for dtype in ["f8", "i4", "c16"]:
        a, b = sample(rng, (3, 4), dtype), sample(rng, (3, 4), dtype)
        check(mt.vdot(chunked(rng, a), chunked(rng, b)), np.vdot(a, b))
        check(mt.vdot(chunked(rng, a), chunked(rng, b.reshape(2, 6))), np.vdot(a, b))


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        (((3, 4, 5), (4, 3, 2)), ([1, 0], [0, 1])),
        (((3, 4, 5), (4, 5, 2)), 2),
        (((3, 4), (5, 6)), 0),
        (((3, 4, 5), (5, 2)), ([-1], [0])),
        (((3, 4, 5), (4, 2)), (1, 0)),
        (((0, 4), (4, 2)), 1),
    ],
)
def test_tensordot(shapes: Any, axes: Any, rng: np.random.Generator) -> None:
    a, b = (sample(rng, shape) for shape in shapes)
    got = mt.tensordot(chunked(rng, a), chunked(rng, b), axes=axes)
    check(got, np.tensordot(a, b, axes=axes))


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", ((3, 4), (4, 5))),
        ("ij,jk", ((3, 4), (4, 5))),
        ("ii", ((5, 5),)),
        ("ii->i", ((5, 5),)),
        ("ij->ji", ((3, 4),)),
        ("ij->", ((3, 4),)),
        ("ijk->ki", ((3, 4, 2),)),
        ("i,j->ij", ((3,), (4,))),
        ("i,i", ((6,), (6,))),
        ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
        ("...ij,...jk->...ik", ((2, 3, 4), (4, 5))),
        ("...ij,...jk", ((2, 1, 3, 4), (6, 4, 5))),
        ("ij,jk,kl->il", ((3, 4), (4, 5), (5, 2))),
        ("ij,ik,il->jkl", ((3, 4), (3, 5), (3, 2))),
        ("ijj,jk->ik", ((3, 4, 4), (4, 2))),
        ("ij,kl->", ((3, 4), (2, 5))),
        ("ba,b->a", ((3, 4), (3,))),
        ("ij,ij->ij", ((3, 4), (3, 4))),
        ("i...->...", ((3, 4, 2),)),
    ],
)
def test_einsum(subscripts: str, shapes: Any, rng: np.random.Generator) -> None:
    for dtype in ["f8", "i2"]:
        arrays = [sample(rng, shape, dtype) for shape in shapes]
        tensors = [chunked(rng, each) for each in arrays]
        check(mt.einsum(subscripts, *tensors), np.einsum(subscripts, *arrays))
        if len(arrays) > 2:
            check(mt.einsum(subscripts, *tensors, optimize=True), np.einsum(subscripts, *arrays))


def test_einsum_takes_lists_of_labels(rng: np.random.Generator) -> None:
    a, b = sample(rng, (3, 4)), sample(rng, (4, 5))
    check(mt.einsum(a, [0, 1], b, [1, 2], [0, 2]), np.einsum(a, [0, 1], b, [1, 2], [0, 2]))
    check(mt.einsum(a, [0, 1], b, [1, 2]), np.einsum(a, [0, 1], b, [1, 2]))


def test_many_chunks_along_the_sum_are_added_up(rng: np.random.Generator) -> None:
    x = rng.random(200_000)
    check(mt.dot(constant(x, chunk_size=1000), x), np.dot(x, x))
    a = rng.random((50, 40_000))
    check(mt.inner(constant(a, chunk_size=(50, 3000)), a), a @ a.T)
    big = rng.random((400, 300))
    check(constant(big) @ constant(big.T), big @ big.T)


def test_out_takes_the_result(rng: np.random.Generator) -> None:
    a = sample(rng, (4, 4))
    out = constant(np.zeros((4, 4)))
    assert mt.matmul(a, a, out=out) is out
    check(out, a @ a)
    with pytest.raises(ValueError, match="out has the shape"):
        mt.dot(a, a, out=constant(np.zeros(3)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mt.matmul(np.ones((2, 3)), np.ones((4, 2))), ValueError, "inner sizes differ: 3"),
        (lambda: mt.matmul(np.ones((2, 1)), np.ones((4, 2))), ValueError, "inner sizes differ"),
        (lambda: mt.matmul(1.0, np.ones(2)), ValueError, "without axes"),
        (lambda: mt.matmul(np.ones((2, 3, 4)), np.ones((3, 4, 2))), ValueError, "sizes differ"),
        (lambda: mt.dot(np.ones(3), np.ones(4)), ValueError, r"\[dot\] inner sizes differ"),
        (lambda: mt.inner(np.ones(3), np.ones(4)), ValueError, "3 and 4"),
        (lambda: mt.vdot(np.ones(3), np.ones(4)), ValueError, "sizes differ"),
        (lambda: mt.tensordot(np.ones(3), np.ones(3), axes=([0], [1])), IndexError, "axis"),
        (lambda: mt.tensordot(np.ones(3), np.ones(3), axes=2), ValueError, "2 axes"),
        (lambda: mt.einsum("ij,jk", np.ones((2, 2))), ValueError, "2 operands"),
        (lambda: mt.einsum("i->j", np.ones(2)), ValueError, "no operand"),
        (lambda: mt.einsum("ij", np.ones(2)), ValueError, "do not fit"),
        (lambda: mt.einsum("ii", np.ones((2, 3))), ValueError, "differ"),
        (lambda: mt.einsum("i*", np.ones(2)), ValueError, "subscript"),
        (lambda: mt.dot(np.zeros(2, "M8[s]"), np.ones(2)), TypeError, "not defined"),
    ],
)
def test_wrong_use_is_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
