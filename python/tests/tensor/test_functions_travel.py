"""Functions of operators are pickled when they go to a cluster: they refer to no tensor."""

import pickle

import cloudpickle
import numpy as np
import pytest

import muster.remote as mr
import muster.tensor as mt
from muster.tensor import _functions
from muster.tensor._call import constant

ITEMS = np.arange(1.0, 13).reshape(3, 4)


@pytest.fixture
def sent(monkeypatch):
    """The functions that were given to the engine since, as another process would get them."""
    functions = []

    def catch(name):
        real = getattr(_functions, name)

        def called(*args, **attributes):
            functions.append(pickle.loads(cloudpickle.dumps(attributes["function"])))
            return real(*args, **attributes)

        monkeypatch.setattr(_functions, name, called)

    catch("apply")
    catch("apply_many")
    return functions


def test_map_chunk(sent):
    tensor = constant(ITEMS)
    mt.map_chunk(lambda a, b, c: a * b + c, tensor, 2, tensor)
    np.testing.assert_array_equal(sent[0]([ITEMS, ITEMS]), ITEMS * 3)


def test_scipy(sent):
    pytest.importorskip("scipy")
    tensor = constant(ITEMS)
    mt.special.erfi(tensor)
    mt.special.multigammaln(tensor + 5, 2)
    mt.stats.entropy(tensor, tensor + 1)
    mt.stats.chisquare(tensor)
    mt.stats.ttest_ind(tensor, tensor)
    mt.spatial.distance.pdist(tensor)
    mt.spatial.distance.cdist(tensor, tensor)
    assert len(sent) == 7


def test_calls_pack_their_results_elsewhere():
    tensor = constant(ITEMS)
    first = mr.spawn(lambda: {"a": 1})
    calls = []
    real = mr._spawn._Call

    def caught(*parts):
        calls.append(real(*parts))
        return calls[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mr._spawn, "_Call", caught)
        mr.spawn(lambda x, t: (x["a"], t.shape), (first, tensor), resolve_tileable_input=True)
    there = pickle.loads(cloudpickle.dumps(calls[0]))
    packed = mr._spawn._pack({"a": 1}, "first")
    result = there([packed, ITEMS])
    assert result.dtype == np.uint8
    assert mr._spawn._object_of(result) == (1, (3, 4))
    with pytest.raises(ValueError, match="another process"):
        there([np.zeros(9, np.uint8) + 0, ITEMS])
