"""How tensors are shown, and what NumPy and Python ask of them."""

import numpy as np
import pytest

import muster
import muster.tensor as mt
from muster.tensor._call import apply, constant, operands


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((), float),
        ((0,), float),
        ((3,), np.int32),
        ((4, 5), float),
        ((2, 3, 4), np.float32),
        ((2000,), int),
        ((2000,), np.int16),
        ((60, 70), float),
        ((7, 300), bool),
        ((6, 300), complex),
        ((10, 11, 12, 13), np.float32),
        ((1, 5000), "datetime64[s]"),
    ],
)
def test_an_executed_tensor_looks_like_an_array(shape, dtype):
    array = (np.arange(np.prod(shape, dtype=int)) * 1.5).astype(dtype).reshape(shape)
    tensor = constant(array, chunk_size=(7,) * len(shape)).execute()
    assert repr(tensor) == repr(array)
    assert str(tensor) == str(array)


def test_print_options_are_kept_to():
    array = np.arange(200.0).reshape(10, 20) / 3
    tensor = constant(array, chunk_size=4).execute()
    with np.printoptions(threshold=10, edgeitems=2, precision=2):
        assert repr(tensor) == repr(array)
        assert str(tensor) == str(array)


def test_a_tensor_that_is_not_executed_says_what_it_is():
    tensor = constant(np.ones((3, 4)), chunk_size=2)
    assert repr(apply("sum", [tensor], axis=0)) == "Tensor <op=sum, shape=(4,), dtype=float64>"
    unknown = mt.map_chunk(lambda chunk: chunk, tensor, dtype=float)
    assert repr(unknown) == "Tensor <op=map_chunk, shape=(?, ?), dtype=float64>"


def test_only_the_chunks_that_are_seen_are_read():
    session = muster.new_session(n_cpu=1)
    tensor = mt.map_chunk(lambda c: c + 1, constant(np.zeros((4000, 1000)), chunk_size=500))
    session.execute(tensor)
    before = session._engine.memory_in_use
    session._engine.reset_memory_peak()
    part = session.fetch_part(tensor, (0, 10), (5, 3))
    assert part.shape == (5, 3)
    assert session._engine.memory_peak - before < 100_000
    for start, extents in (((0, 0), (4001, 1)), ((-1, 0), (1, 1)), ((0,), (1,))):
        with pytest.raises(IndexError):
            session.fetch_part(tensor, start, extents)


def test_parts_of_any_chunking():
    random = np.random.default_rng(1)
    array = random.normal(size=(11, 7, 5))
    session = muster.new_session(n_cpu=1)
    for chunk_size in (None, 1, 2, (11, 3, 2), ((5, 6), (0, 7), (2, 0, 3))):
        tensor = constant(array, chunk_size=chunk_size)
        session.execute(tensor)
        for _ in range(20):
            start = [random.integers(0, n + 1) for n in array.shape]
            count = [random.integers(0, n - s + 1) for n, s in zip(array.shape, start)]
            place = tuple(slice(s, s + c) for s, c in zip(start, count))
            part = session.fetch_part(tensor, [*map(int, start)], [*map(int, count)])
            np.testing.assert_array_equal(part, array[place])


def test_numbers_of_python():
    assert float(constant(2.5)) == 2.5
    assert int(constant(np.array([[7]]))) == 7
    assert complex(constant(1 + 2j)) == 1 + 2j
    assert bool(constant(np.array([1]))) is True
    assert [10, 20, 30][constant(2)] == 30
    assert constant(np.arange(4).reshape(2, 2)).item(3) == 3
    assert constant(np.arange(4).reshape(2, 2), chunk_size=1).tolist() == [[0, 1], [2, 3]]
    assert f"{constant(1.2345):.2f}" == "1.23"


def test_numbers_that_are_none():
    many = constant(np.arange(3))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(many)
    for convert in (float, int, complex):
        with pytest.raises(TypeError, match="only tensors of one item"):
            convert(many)
    with pytest.raises(TypeError, match="index"):
        [1, 2][constant(1.0)]


def test_functions_of_numpy_give_tensors():
    array = np.linspace(0, 1, 12).reshape(3, 4)
    tensor = constant(array, chunk_size=2)
    for function in (np.sin, np.sum, lambda x: np.add(x, 1), lambda x: np.add(array, x)):
        result = function(tensor)
        assert isinstance(result, mt.Tensor)
        np.testing.assert_allclose(result.to_numpy(), function(array))
    np.testing.assert_allclose(np.add.reduce(tensor).to_numpy(), np.add.reduce(array))


def test_functions_of_scipy_give_tensors():
    import scipy.special

    array = np.linspace(0, 1, 12).reshape(3, 4)
    result = scipy.special.erf(constant(array, chunk_size=2))
    assert isinstance(result, mt.Tensor)
    np.testing.assert_allclose(result.to_numpy(), scipy.special.erf(array))


def test_functions_that_are_not_there_are_named():
    tensor = constant(np.ones((3, 3)))
    with pytest.raises(TypeError, match=r"there is no numpy.linalg.eig for tensors; to_numpy"):
        np.linalg.eig(tensor)
    with pytest.raises(TypeError):
        np.add.at(tensor, [0], 1)
    out = np.empty((3, 3))
    with pytest.raises(TypeError):
        np.add(tensor, 1, out=out)


def test_operands_meet_arrays():
    tensor = constant(np.arange(3.0))
    total = apply("add", operands(tensor, np.ones(3)))
    np.testing.assert_array_equal(np.asarray(total), [1, 2, 3])


def test_a_slice_of_an_executed_tensor_can_be_fetched():
    array = np.arange(100.0).reshape(10, 10)
    tensor = constant(array, chunk_size=3)
    with pytest.raises(ValueError, match="not been executed"):
        tensor[2:4].fetch()
    tensor.execute()
    np.testing.assert_array_equal(tensor[2:4].fetch(), array[2:4])
    np.testing.assert_array_equal(tensor[2:8][1:3, ::2].fetch(), array[2:8][1:3, ::2])
    with pytest.raises(ValueError, match="not been executed"):
        apply("add", operands(tensor, 1)).fetch()
