"""Tensors: expressions that are computed in chunks, on all cores, when somebody asks."""

import numpy as np

import muster
import muster.remote as mr
import muster.tensor as mt


# region pi
def estimate_pi(points):
    """The share of random points of a square that lie in its circle, times four."""
    x = mt.random.uniform(-1, 1, size=points)
    y = mt.random.uniform(-1, 1, size=points)
    inside = mt.sum(x * x + y * y < 1)  # nothing is computed yet
    return 4 * int(inside.execute()) / points


# endregion


def lazy():
    # region lazy
    a = mt.ones((2000, 2000), chunk_size=500)  # 16 chunks
    b = (a + 1).sum(axis=0)
    print(b)  # Tensor <op=sum, shape=(2000,), dtype=float64>
    b.execute()
    print(b)  # [4000. 4000. 4000. ... 4000. 4000. 4000.]
    array = b.fetch()  # a NumPy array
    # endregion
    assert (array == 4000).all()


def arrays():
    # region arrays
    array = np.arange(12.0).reshape(3, 4)
    tensor = mt.tensor(array, chunk_size=2)  # shares the memory of the array
    total = np.sum(np.sin(tensor))  # NumPy's functions give tensors
    print(float(total), tensor.tolist()[0])  # what Python asks for is computed
    # endregion
    assert np.isclose(float(total), np.sin(array).sum())


def randomness():
    # region random
    state = mt.random.RandomState(42)
    whole = state.normal(size=(1000, 1000))
    state.seed(42)
    cut = state.normal(size=(1000, 1000), chunk_size=100)
    assert (whole.to_numpy() == cut.to_numpy()).all()
    # endregion


def functions():
    # region functions
    tensor = mt.random.rand(1000, chunk_size=300)
    large = mt.map_chunk(lambda chunk: chunk[chunk > 0.9], tensor, dtype=float)
    print(large)  # Tensor <op=map_chunk, shape=(?,), dtype=float64>

    parts = [mr.spawn(len, chunk) for chunk in (large, tensor)]
    total = mr.spawn(sum, (parts,))
    print(total.execute().fetch())
    # endregion
    assert total.fetch() == 1000 + large.to_numpy().size


def execution():
    # region execution
    session = muster.new_session(n_cpu=2, mem_bytes=2**30)
    with session:  # the default within the block
        tensor = mt.random.rand(10_000_000).sum()
        info = tensor.execute(wait=False)
        print(f"{info.progress():.0%}")
        info.result(timeout=60)
    # endregion
    assert 4_900_000 < float(tensor) < 5_100_000


if __name__ == "__main__":
    lazy()
    arrays()
    randomness()
    functions()
    execution()
    print(estimate_pi(10_000_000))
