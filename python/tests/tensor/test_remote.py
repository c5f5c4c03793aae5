"""muster.remote: functions as nodes of the graph."""

import gc
import os
import threading
import traceback
import weakref
from collections import namedtuple

import numpy as np
import pytest

import muster.remote as mr
import muster.tensor as mt
from muster.tensor._call import constant


@pytest.mark.here
def test_a_function_runs_when_it_is_executed():
    calls = []
    result = mr.spawn(lambda a, b: calls.append(a) or a + b, (1,), {"b": 2})
    assert calls == []
    assert "not executed" in repr(result)
    assert result.execute() is result
    assert calls == [1]
    assert result.fetch() == 3
    assert "executed" in repr(result)


def test_results_are_arguments_of_others():
    parts = [mr.spawn(lambda x: x * x, number) for number in range(10)]
    total = mr.spawn(lambda many, more: sum(many) + more["one"], (parts, {"one": parts[3]}))
    assert total.execute().fetch() == sum(n * n for n in range(10)) + 9


@pytest.mark.here
def test_shared_parts_run_once():
    calls = []
    shared = mr.spawn(lambda: calls.append(1) or object())
    same = mr.ExecutableTuple([mr.spawn(lambda x: x, shared), mr.spawn(lambda x: x, shared)])
    first, second = same.execute().fetch()
    assert first is second
    assert len(calls) == 1


@pytest.mark.here
def test_the_same_call_twice_runs_twice():
    calls = []
    func = calls.append
    mr.ExecutableTuple([mr.spawn(func, 1), mr.spawn(func, 1)]).execute()
    assert calls == [1, 1]


@pytest.mark.here
def test_objects_are_not_copied_and_go_with_their_last_holder():
    class Thing:
        pass

    result = mr.spawn(Thing).execute()
    thing = result.fetch()
    assert result.fetch() is thing
    gone = weakref.ref(thing)
    del thing, result
    gc.collect()
    mr.spawn(int).execute()
    assert gone() is None


def test_tensors_come_as_tensors_or_arrays():
    items = np.arange(12.0).reshape(3, 4)
    tensor = constant(items, chunk_size=2)
    as_tensor = mr.spawn(lambda t: (type(t), t.to_numpy().sum()), tensor).execute().fetch()
    assert as_tensor == (mt.Tensor, items.sum())
    as_array = mr.spawn(lambda a: a, tensor, resolve_tileable_input=True).execute().fetch()
    np.testing.assert_array_equal(as_array, items)


def test_several_results():
    result = mr.spawn(lambda: (1, "two", None), n_output=3)
    assert isinstance(result, mr.ExecutableTuple)
    assert result.execute().fetch() == [1, "two", None]
    assert mr.spawn(lambda x: x, result[1]).execute().fetch() == "two"
    with pytest.raises(ValueError, match="gave 2 results, not 3"):
        mr.spawn(lambda: (1, 2), n_output=3).execute()


def test_named_tuples_stay_named():
    Pair = namedtuple("Pair", "a b")
    one = mr.spawn(lambda: 1)
    assert mr.spawn(lambda pair: pair, (Pair(one, 2),)).execute().fetch() == Pair(1, 2)


@pytest.mark.here
def test_an_exception_reaches_the_user_as_it_is():
    class OddError(Exception):
        pass

    def fails():
        raise OddError("odd")

    after = mr.spawn(lambda x: x, mr.spawn(fails))
    with pytest.raises(OddError, match="odd") as raised:
        after.execute()
    assert "test_remote.py:" in "".join(traceback.format_exception_only(raised.value))
    assert not after._handle.is_executed


def test_functions_run_side_by_side():
    barrier = threading.Barrier(2, timeout=20)
    both = mr.ExecutableTuple([mr.spawn(barrier.wait), mr.spawn(barrier.wait)])
    import muster

    assert sorted(both.execute(session=muster.new_session(n_cpu=2)).fetch()) == [0, 1]


@pytest.mark.here
def test_isolated_functions_run_in_other_processes():
    one = mr.spawn(os.getpid, isolated=True)
    two = mr.spawn(divmod, (17, mr.spawn(lambda: 5)), isolated=True)
    pid, result = mr.ExecutableTuple([one, two]).execute(timeout=60).fetch()
    assert pid != os.getpid()
    assert result == (3, 2)
    with pytest.raises(ZeroDivisionError):
        mr.spawn(divmod, (1, 0), isolated=True).execute(timeout=60)
    with pytest.raises(RuntimeError, match="'_exit' ended before it was done"):
        mr.spawn(os._exit, (3,), isolated=True).execute(timeout=60)
    assert mr.spawn(abs, (-3,), isolated=True).execute(timeout=60).fetch() == 3


def test_wrong_use_is_refused():
    with pytest.raises(TypeError, match="not a function"):
        mr.spawn(3)
    with pytest.raises(ValueError, match="n_output is 0"):
        mr.spawn(int, n_output=0)
    with pytest.raises(ValueError, match="not been executed"):
        mr.spawn(int).fetch()
