"""The same program in one process and on a cluster: only the session differs.

Start a cluster (`muster local-cluster --workers 2`) and run this with the address that it prints:

    python cluster_session.py http://127.0.0.1:7105

Without an address everything runs in this process.
"""

import sys

import numpy as np

import muster.tensor as mt
from muster.session import new_session


def main(address=None):
    # region session
    # The token is found by itself where the web role is yours and on this host; else it is
    # new_session(address, token=...) or MUSTER_TOKEN.
    with new_session(address) as session:
        a = mt.ones((2000, 2000), chunk_size=200)
        b = mt.inner(a, a)
        b.execute()  # computed by the workers, where it stays
        print(b[:2, :3].fetch())  # only what is asked for comes over
        print(len(session.get_cluster_info()["workers"]), "workers")
        # endregion
        assert (b[:2, :3].fetch() == 2000).all()

        # region arrays
        array = np.random.default_rng(0).random((1000, 500))
        tensor = mt.tensor(array, chunk_size=250)  # uploaded once, chunk by chunk, without a copy
        mean, spread = tensor.mean(axis=0), tensor.std(axis=0)
        session.execute(mean, spread)
        print(mean.fetch()[:3], spread.fetch()[:3])
        # endregion
        assert np.allclose(mean.fetch(), array.mean(axis=0))
        assert np.allclose(spread.fetch(), array.std(axis=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
