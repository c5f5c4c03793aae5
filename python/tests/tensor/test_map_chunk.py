"""Functions of the user on chunks."""

import traceback

import numpy as np
import pytest

import muster
import muster.tensor as mt
from muster.tensor._call import apply, constant, operands

ITEMS = np.arange(35.0).reshape(5, 7)


@pytest.mark.parametrize("chunk_size", [None, 2, (3, 7), 1])
def test_each_chunk_is_mapped(chunk_size):
    tensor = constant(ITEMS, chunk_size=chunk_size)
    result = mt.map_chunk(lambda chunk: chunk * 2 + 1, tensor)
    assert result.shape == (5, 7)
    np.testing.assert_array_equal(result.to_numpy(), ITEMS * 2 + 1)


def test_several_tensors_broadcast_and_others_are_handed_on():
    rows = constant(ITEMS, chunk_size=(2, 3))
    line = constant(np.arange(7), chunk_size=4)
    result = mt.map_chunk(
        lambda a, factor, b, *, plus: a * factor + b + plus, rows, 3, line, kwargs={"plus": 0.5}
    )
    np.testing.assert_array_equal(result.to_numpy(), ITEMS * 3 + np.arange(7) + 0.5)


def test_a_method_does_the_same():
    tensor = constant(ITEMS, chunk_size=2)
    result = tensor.map_chunk(lambda chunk, a, b: chunk * a + b, (2,), b=1)
    np.testing.assert_array_equal(result.to_numpy(), ITEMS * 2 + 1)


def test_results_may_have_other_sizes():
    tensor = constant(np.arange(100), chunk_size=30)
    result = mt.map_chunk(lambda chunk: chunk[chunk % 7 == 0], tensor, dtype=int)
    assert np.isnan(result.shape[0])
    total = apply("sum", [result])
    np.testing.assert_array_equal(result.to_numpy(), np.arange(0, 100, 7))
    assert result.shape == (15,)
    assert total.to_numpy() == np.arange(0, 100, 7).sum()


def test_the_place_of_the_chunk_is_given():
    tensor = constant(np.zeros((4, 6)), chunk_size=2)
    result = mt.map_chunk(
        lambda chunk, chunk_index: chunk + 10 * chunk_index[0] + chunk_index[1],
        tensor,
        with_chunk_index=True,
    )
    np.testing.assert_array_equal(
        result.to_numpy(), np.repeat(np.repeat([[0, 1, 2], [10, 11, 12]], 2, 0), 2, 1)
    )


@pytest.mark.here
def test_an_exception_reaches_the_user_as_it_is():
    def fails(chunk):
        raise KeyError("no such thing")

    result = mt.map_chunk(fails, constant(ITEMS, chunk_size=2), dtype=float)
    with pytest.raises(KeyError, match="no such thing") as raised:
        result.execute()
    notes = "".join(traceback.format_exception_only(raised.value))
    assert "in map_chunk" in notes
    assert "test_map_chunk.py:" in notes
    np.testing.assert_array_equal(mt.map_chunk(np.negative, constant(ITEMS)).to_numpy(), -ITEMS)


def test_wrong_use_is_refused():
    tensor = constant(ITEMS, chunk_size=2)
    with pytest.raises(TypeError, match="none of the arguments is a tensor"):
        mt.map_chunk(np.sin, 1.0)
    with pytest.raises(TypeError, match="its dtype must be given: integer division"):
        mt.map_chunk(lambda chunk: 1 // 0, tensor)
    with pytest.raises(ValueError, match="of 1 axes instead of 2"):
        mt.map_chunk(np.ravel, tensor, dtype=float).execute()
    with pytest.raises(ValueError, match=r"shape \(1, 2\) instead of \(2, 2\)"):
        mt.map_chunk(lambda chunk: chunk[:1], tensor, dtype=float, elementwise=True).execute()
    with pytest.raises(ValueError, match="chunks beside it"):
        mt.map_chunk(
            lambda chunk, chunk_index: chunk[: 1 + chunk_index[1]],
            tensor,
            dtype=float,
            with_chunk_index=True,
        ).execute()


def test_a_function_may_use_tensors_itself():
    def doubled(chunk):
        return apply("add", operands(constant(chunk), chunk)).to_numpy()

    result = mt.map_chunk(doubled, constant(ITEMS, chunk_size=3))
    np.testing.assert_array_equal(result.to_numpy(), ITEMS * 2)


def test_a_function_cannot_wait_for_its_own_session():
    session = muster.new_session(n_cpu=1)

    def waits(chunk):
        session.execute(constant(chunk))
        return chunk

    result = mt.map_chunk(waits, constant(ITEMS), dtype=float, elementwise=True)
    with pytest.raises(RuntimeError, match="cannot execute in another one"):
        session.execute(result)
