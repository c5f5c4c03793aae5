"""What a session on a cluster promises its user."""

from __future__ import annotations

import gc
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import muster
import muster.tensor as mt
from muster.session import ClusterSession, Session, execute, new_session
from tests.engine.cluster import Cluster

pytestmark = pytest.mark.timeout(180)


def token_of(cluster: Cluster) -> str:
    [path] = Path(cluster.env["MUSTER_RUNTIME_DIR"]).glob("web-*.token")
    return path.read_text().strip()


def ask(cluster: Cluster, path: str, token: str | None = None) -> Any:
    headers = {"Authorization": f"Bearer {token or token_of(cluster)}"}
    request = urllib.request.Request(cluster.url + path, headers=headers)
    with urllib.request.urlopen(request, timeout=20) as reply:
        return json.load(reply)


def soon(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def tensors_there(cluster: Cluster) -> int:
    return sum(session["tensors"] for session in ask(cluster, "/api/sessions")["sessions"])


def test_it_is_a_session_like_any_other(cluster_of):
    cluster = cluster_of(2)
    with new_session(cluster.url) as session:
        assert isinstance(session, Session)
        assert muster.session.get_default_session() is session
        x = mt.arange(100, chunk_size=30)
        y, z = execute(x * 2, x.sum())
        np.testing.assert_array_equal(y.fetch(), np.arange(100) * 2)
        assert z.fetch() == 4950
        assert session.n_cpu == 2
        assert session.mem_bytes > 0
        workers = session.get_cluster_info()["workers"]
        assert {worker["name"] for worker in workers} == {"w0", "w1"}
    assert muster.session.get_default_session() is not session
    with pytest.raises(RuntimeError, match="closed"):
        session.execute(x + 1)


def test_slices_fetch_only_what_they_touch(cluster_of):
    cluster = cluster_of(1)
    with new_session(cluster.url) as session:
        x = mt.arange(10_000, chunk_size=1000) + 0
        x.execute()
        assert isinstance(session, ClusterSession)
        np.testing.assert_array_equal(session.fetch_part(x, (1500,), (3,)), [1500, 1501, 1502])
        np.testing.assert_array_equal(x[2999:3002].fetch(), [2999, 3000, 3001])
        with pytest.raises(IndexError, match="outside"):
            session.fetch_part(x, (9999,), (2,))


def test_large_arrays_go_up_once_and_are_released(cluster_of):
    cluster = cluster_of(2)
    with new_session(cluster.url):
        values = np.random.default_rng(3).random((1000, 700))
        tensor = mt.tensor(values, chunk_size=300)
        for factor in (2, 3):
            np.testing.assert_array_equal((tensor * factor).execute().fetch(), values * factor)
        assert soon(lambda: tensors_there(cluster) == 1)
        del tensor
        gc.collect()
        mt.ones(3).execute()
        gc.collect()
        assert soon(lambda: tensors_there(cluster) == 0)


def test_arrays_of_all_kinds_come_back_as_they_were(cluster_of):
    cluster = cluster_of(2)
    rng = np.random.default_rng(5)
    with new_session(cluster.url):
        for array in (
            np.asfortranarray(rng.random((700, 300))),
            rng.random((600, 600))[::2, ::-1],
            rng.integers(0, 2, 2_000_000).astype(bool),
            np.arange(0, 200_000).astype("datetime64[s]"),
            (rng.random(200_000) + 1j).astype("complex64"),
            np.zeros((0, 3)),
            np.float64(3.5),
        ):
            tensor = mt.tensor(array)
            back = mt.concatenate([tensor]).execute().fetch() if array.ndim else tensor.to_numpy()
            assert back.dtype == array.dtype
            np.testing.assert_array_equal(back, array)


def test_what_was_computed_here_goes_on_there_and_back(cluster_of):
    cluster = cluster_of(1)
    local = new_session()
    here = mt.arange(10, chunk_size=4) * 2
    local.execute(here)
    with new_session(cluster.url) as session:
        there = here + 1
        session.execute(there)
        back = there * 10
        local.execute(back)
        np.testing.assert_array_equal(local.fetch(back), (np.arange(10) * 2 + 1) * 10)


def test_errors_say_where_in_the_program(cluster_of):
    cluster = cluster_of(1)
    with new_session(cluster.url):
        wrong = mt.take(mt.arange(3), mt.tensor(np.array([7])))
        with pytest.raises(IndexError) as raised:
            wrong.execute()
        assert "test_session.py" in str(raised.value)
        with pytest.raises(np.linalg.LinAlgError):
            mt.linalg.inv(mt.zeros((3, 3))).execute()
        assert mt.ones(3).sum().execute().fetch() == 3, "the session goes on"


def test_an_execution_is_cancelled_and_ends_in_time(cluster_of):
    cluster = cluster_of(0)  # nothing will ever run
    session = new_session(cluster.url)
    running = session.submit(mt.ones(10).sum())
    running.cancel()
    with pytest.raises(CancelledError):
        running.result(30)
    with pytest.raises(TimeoutError, match="in time"):
        session.execute(mt.ones(10).sum(), timeout=0.3)

    def states() -> set[str]:
        [row] = ask(cluster, "/api/sessions")["sessions"]
        return {execution["state"] for execution in row["executions"]}

    assert soon(lambda: states() <= {"cancelled"})


def test_strangers_are_told_what_they_need(cluster_of):
    cluster = cluster_of(0)
    with pytest.raises(PermissionError, match="MUSTER_TOKEN"):
        new_session(cluster.url, token="wrong")
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(cluster, "/api/cluster", "wrong")
    assert refused.value.code == 401
    session = new_session(cluster.url, token=token_of(cluster))
    assert session.get_cluster_info()["workers"] == []
    session.close()
    with pytest.raises(ValueError, match="http://host:port"):
        new_session("127.0.0.1:7105")
    with pytest.raises(ConnectionError):
        new_session("http://127.0.0.1:1", timeout=0.5)
    with pytest.raises(ValueError, match="n_cpu"):
        new_session(cluster.url, n_cpu=3)


def test_a_closed_session_leaves_nothing(cluster_of):
    cluster = cluster_of(1)
    session = new_session(cluster.url)
    x = mt.ones(1000, chunk_size=100) + 1
    session.execute(x)
    session.close()
    assert ask(cluster, "/api/sessions")["sessions"] == []
    info = lambda: ask(cluster, "/api/cluster")["used"]  # noqa: E731
    assert soon(lambda: info() == 0)
    with new_session(cluster.url):
        assert (x.execute().fetch() == 2).all(), "it is computed again"


def test_a_client_that_dies_is_forgotten(cluster_of):
    cluster = cluster_of(1)
    cluster.python(
        "import os, signal\n"
        "import muster.tensor as mt\n"
        "from muster.session import new_session\n"
        "session = new_session(os.environ['MUSTER_WEB'], session_timeout=1)\n"
        "x = mt.ones(100)\n"
        "session.execute(x)\n"
        "print(flush=True)\n"
        "os._exit(0)\n"
    )
    assert soon(lambda: ask(cluster, "/api/sessions")["sessions"] == [])


def test_every_endpoint_is_listed_and_documented(cluster_of):
    cluster = cluster_of(0)
    with urllib.request.urlopen(cluster.url + "/", timeout=20) as reply:
        page = reply.read().decode()
    document = Path(__file__).parents[2] / "docs" / "reference" / "openapi.yaml"
    paths = [
        line.strip().rstrip(":")
        for line in document.read_text().splitlines()
        if line.startswith("  /")
    ]
    assert len(paths) > 10
    for path in paths:
        assert f"<code>{path}</code>" in page
