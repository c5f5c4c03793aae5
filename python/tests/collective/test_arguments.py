"""What collectives take, and what they say to the rest."""

import array

import numpy as np
import pytest

from muster.collective import Group


class Tensor:
    """The least that has DLPack: the memory of a NumPy array and nothing else."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_type_of_numpy_is_known(alone, dtype):
    data = np.arange(5).astype(dtype)
    result = alone.allreduce(data)
    assert result.dtype == data.dtype
    np.testing.assert_array_equal(result, data)


def test_results_go_where_they_are_wanted(alone):
    data, out = np.arange(4.0), np.zeros(4)
    assert alone.allreduce(data, out=out) is out
    assert out.tolist() == [0, 1, 2, 3]
    assert alone.allreduce(data, out=data) is data


def test_one_dimension_stands_for_the_items_of_several(alone):
    data, out = np.arange(6.0).reshape(2, 3), np.zeros(6)
    alone.allreduce(data, out=out)
    assert out.tolist() == [0, 1, 2, 3, 4, 5]
    alone.reduce(out + 1, out=data)
    assert data.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_the_buffer_protocol_is_enough(alone):
    data = array.array("d", [1, 2, 3])
    out = bytearray(24)
    alone.allreduce(data, out=memoryview(out).cast("d"))
    assert np.frombuffer(out).tolist() == [1, 2, 3]


def test_dlpack_is_enough_and_nothing_is_copied(alone):
    data, out = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    alone.allreduce(Tensor(data), out=Tensor(out))
    assert out.tolist() == [0, 1, 2]


def read_only(values):
    values.flags.writeable = False
    return values


def test_memory_that_a_producer_calls_read_only_is_read(alone):
    data = Tensor(read_only(np.arange(3.0)))
    assert alone.allreduce(data).tolist() == [0, 1, 2]
    assert alone.broadcast(data) is data


def test_memory_that_a_producer_calls_read_only_is_not_written(alone):
    out = Tensor(read_only(np.zeros(3)))
    with pytest.raises(ValueError, match="out is read-only, and the result has to go there"):
        alone.allreduce(np.ones(3), out=out)
    assert out.values.tolist() == [0, 0, 0]


def test_a_producer_that_cannot_say_that_its_memory_is_read_only_is_quoted(alone):
    class Old(Tensor):
        """Of the time before DLPack 1.0."""

        def __dlpack__(self):
            return self.values.__dlpack__()

    with pytest.raises(TypeError, match="through DLPack: Cannot export readonly array"):
        alone.allreduce(Old(read_only(np.zeros(3))))


def test_a_producer_that_refuses_is_quoted(alone):
    class Refuses(Tensor):
        def __dlpack__(self, **options):
            raise RuntimeError("lies on a tape")

    with pytest.raises(TypeError, match="does not give its memory through DLPack: lies on a tape"):
        alone.allreduce(Refuses(np.zeros(3)))


def test_brain_floats_of_ml_dtypes_are_known(alone):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    data = np.arange(4).astype(ml_dtypes.bfloat16)
    assert alone.allreduce(data, op="max").dtype == data.dtype


def test_shared_arrays_are_arrays(alone):
    data = alone.empty((3, 4), np.float32)
    data += 2
    assert alone.allreduce(data).tolist() == [[2] * 4] * 3


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda g: g.allreduce(None), TypeError, "[allreduce] data is missing"),
        (lambda g: g.broadcast(None), TypeError, "[broadcast] data is missing"),
        (lambda g: g.scatter(None), TypeError, "[scatter] data is missing"),
        (lambda g: g.scatter(None, np.zeros(3)), TypeError, "[scatter] data is missing"),
        (lambda g: g.all_to_all(None, np.zeros(2), counts=[2]), TypeError, "data is missing"),
        (lambda g: g.ireduce(None), TypeError, "[reduce] data is missing"),
        (lambda g: g.send(None, 0), TypeError, "[send] data is missing"),
        (lambda g: g.irecv(None, 0), TypeError, "[irecv] out is missing"),
        (lambda g: g.allreduce([1, 2]), TypeError, "neither the buffer protocol nor DLPack"),
        (lambda g: g.allreduce(np.array(["a"])), TypeError, "collectives take integers"),
        (lambda g: g.allreduce(np.zeros(3, object)), TypeError, "dtype object"),
        (lambda g: g.allreduce(np.zeros(3, ">f4")), TypeError, "dtype >f4"),
        (lambda g: g.allreduce(np.zeros((4, 4))[:, ::2]), ValueError, "one piece in C order"),
        (lambda g: g.allreduce(np.zeros(3), out=bytearray(24)), TypeError, "data holds float64"),
        (lambda g: g.allreduce(np.zeros(3), np.zeros(4)), ValueError, "out holds 4 items, 3 are"),
        (
            lambda g: g.allreduce(np.zeros((2, 3)), np.zeros((3, 2))),
            ValueError,
            "[allreduce] out has the shape (3, 2) and data (2, 3); pass the same, or ravel()",
        ),
        (
            lambda g: g.ireduce(np.zeros((2, 3)), np.zeros((1, 6))),
            ValueError,
            "[reduce] out has the shape (1, 6) and data (2, 3)",
        ),
        (
            lambda g: g.all_to_all(np.zeros((2, 3)), np.zeros((2, 3, 1))),
            ValueError,
            "[all_to_all] out has the shape (2, 3, 1) and data (2, 3)",
        ),
        (lambda g: g.allreduce(np.zeros(3), op="avg"), ValueError, "op is 'avg'; there are sum"),
        (lambda g: g.allreduce(np.zeros(3), op=3), TypeError, "op is a name such as 'sum'"),
        (lambda g: g.allreduce(np.zeros(3, int), op="mean"), ValueError, "not defined for int64"),
        (lambda g: g.allreduce(np.zeros(3, "c8"), op="max"), ValueError, "not defined for compl"),
        (lambda g: g.allreduce(np.zeros(3), op="xor"), ValueError, "] xor is not defined for flo"),
        (lambda g: g.allreduce(np.zeros(3, bool)), TypeError, "not defined for bool"),
        (lambda g: g.broadcast(np.zeros(3), root=1), ValueError, "root is 1, and the group has"),
        (lambda g: g.allgather(np.zeros(3), counts=[1, 2]), ValueError, "counts has 2 entries"),
        (lambda g: g.allgather(np.zeros(3), counts=[-3]), ValueError, "counts holds -3"),
        (lambda g: g.send(np.zeros(3), 4), ValueError, "[send] to is 4"),
        (lambda g: g.barrier(tag=256), ValueError, "tag is a number from 0 to 255"),
        (lambda g: g.barrier(tag="x"), TypeError, "[barrier] tag is a whole number, not 'x'"),
        (lambda g: g.barrier(timeout="3"), TypeError, "timeout is a number of seconds or None"),
        (lambda g: g.broadcast(np.zeros(3), root=0.5), TypeError, "[broadcast] root is a whole"),
        (lambda g: g.recv(np.zeros(3), "a"), TypeError, "[recv] source is a whole number"),
        (lambda g: g.split("red"), TypeError, "[split] color is a whole number, not 'red'"),
        (lambda g: g.ibarrier().wait("3"), TypeError, "[wait] timeout is a number of seconds"),
        (lambda g: g.barrier(timeout=float("nan")), ValueError, "a number of seconds or None"),
        (lambda g: g.barrier(tag=2**70), ValueError, "[barrier] tag is a number of 32 bits"),
        (lambda g: g.broadcast(np.zeros(3), 2**40), ValueError, "[broadcast] root is a number of"),
        (lambda g: g.split(2**70), ValueError, "[split] color is a number of 32 bits, not 1180"),
        (lambda g: g.agree(-1), ValueError, "[agree] bits is a number of 64 bits, from 0"),
        (lambda g: g.agree(2**64), ValueError, "[agree] bits is a number of 64 bits, from 0"),
        (lambda g: g.allgather(np.zeros(2), counts=4), TypeError, "[allgather] counts is a list"),
        (lambda g: g.gather(np.zeros(2), counts=[2.0]), TypeError, "[gather] counts is a list of"),
        (lambda g: g.scatter(np.zeros(2), counts="2"), TypeError, "[scatter] counts is a list of"),
        (lambda g: g.allgather(np.zeros(2), counts=[2**62]), ValueError, "counts holds 461168601"),
        (lambda g: g.all_to_all(np.zeros(2), counts=[1, 1]), ValueError, "counts has 2 entries"),
        (lambda g: g.all_to_all(np.zeros(3), np.zeros(2)), ValueError, "out holds 2 items, 3 are"),
        (lambda g: g.allreduce(array.array("u", "ab")), TypeError, "data has dtype 'u'; collec"),
        (lambda g: g.empty(-1), ValueError, "[empty] shape is -1; extents are counted from 0"),
        (lambda g: g.empty((2, -3)), ValueError, "[empty] shape is (2, -3)"),
        (lambda g: g.empty(2.5), TypeError, "[empty] shape is a whole number or several, not 2.5"),
        (lambda g: g.empty(2**62), ValueError, "no memory holds"),
        (lambda g: g.empty(3, object), TypeError, "other processes cannot read objects"),
        (lambda g: g.gatherv, AttributeError, "a Group has no 'gatherv'; call gather(counts=...)"),
        (lambda g: g.barier, AttributeError, "'Group' object has no attribute 'barier'"),
    ],
)
def test_wrong_arguments_are_named(alone, call, error, text):
    with pytest.raises(error) as raised:
        call(alone)
    assert text in str(raised.value)


@pytest.mark.parametrize("started", ["", "i"])
@pytest.mark.parametrize(
    "operation",
    ["scatter", "gather", "reduce", "allreduce", "allgather", "reduce_scatter", "all_to_all"],
)
def test_a_result_cannot_go_into_read_only_memory(alone, operation, started):
    out = read_only(np.zeros(3))
    with pytest.raises(ValueError, match=rf"\[{operation}\] out is read-only"):
        getattr(alone, started + operation)(np.ones(3), out)
    assert out.tolist() == [0, 0, 0]


@pytest.mark.parametrize("operation", ["recv", "irecv"])
def test_a_message_cannot_go_into_read_only_memory(alone, operation):
    with pytest.raises(ValueError, match=rf"\[{operation}\] out is read-only"):
        getattr(alone, operation)(read_only(np.zeros(3)), 0)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("", 1), TypeError, "name is a text"),
        (("x", 0), ValueError, "at least one rank"),
        (("x", 2.5), TypeError, "size is a whole number"),
        (("x", 2**31), ValueError, "size is 2147483648; a group has"),
        (("\ud800", 1), ValueError, "name is not text that can be sent"),
    ],
)
def test_a_group_needs_a_name_and_a_size(arguments, error, text):
    with pytest.raises(error, match=text):
        Group.join(*arguments)


@pytest.mark.parametrize(
    ("option", "error", "text"),
    [
        ({"member": 5}, TypeError, "member is a str, not 5"),
        ({"discovery": None}, TypeError, "discovery is a str, not None"),
        ({"driver_options": 3}, TypeError, "driver_options is a dict"),
        ({"secret": b"x"}, TypeError, "secret is a str, not bytes"),
        ({"lease": 0}, ValueError, "'lease' is 0.000 s; at least 0.05 s are needed"),
        ({"plane": 1}, TypeError, "plane is a str, not 1"),
    ],
)
def test_options_of_a_group_are_named(name, option, error, text):
    with pytest.raises(error, match=text):
        Group.join(name, 1, **option)


def test_shapes_are_those_of_numpy(alone):
    assert alone.empty(np.int64(4)).shape == (4,)
    assert alone.empty((np.int32(2), 0)).shape == (2, 0)
    assert alone.empty(()).shape == ()


def test_a_rank_is_one_of_the_group():
    with pytest.raises(ValueError, match="rank is 3, and a group of 2"):
        Group.join("x", 2, rank=3)
