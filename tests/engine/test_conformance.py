"""The case files of tests/tensor/cases on clusters with too little memory: chunks are spilled."""

from __future__ import annotations

import pytest
from tensor_cases import FILES, check_file

import muster.tensor as mt
from muster._options import option_context
from muster.session import new_session

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_gives_what_numpy_gives(cluster_of, bare_cluster, workers: int) -> None:
    spill = str(bare_cluster.spill_dir())
    cluster = cluster_of(workers, "--cpu", "1", "--cache", "2m", "--spill-dir", spill)
    with new_session(cluster.url) as session, option_context(eager_mode=False):
        # As much as all workers together can hold.
        ballast = mt.arange(workers << 18, chunk_size=1 << 14).execute()
        for name in FILES:
            check_file(name, chunk_size=3)
        assert ballast.sum().execute().fetch() == sum(range(workers << 18))
        assert session.get_cluster_info()["spilled"] > 0
    cluster.stop()
    assert cluster.leftovers() == []
