"""Python functions on a cluster: in processes of the workers, which may die of them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
import pytest

import muster.remote as mr
import muster.tensor as mt
from muster.session import new_session

pytestmark = pytest.mark.timeout(180)

ITEMS = np.arange(60.0).reshape(6, 10)


@pytest.fixture
def functions_on(cluster_of):
    """`functions_on(2)`: a cluster with so many workers, whose functions this Python runs, and a
    session that is the default."""
    sessions = []

    def start(workers: int, *arguments: str):
        cluster = cluster_of(workers, "--cpu", "2", "--python", sys.executable, *arguments)
        sessions.append(new_session(cluster.url))
        sessions[-1].__enter__()
        return cluster

    yield start
    for session in sessions:
        session.__exit__(None, None, None)


def wait_until(condition, what: str, timeout: float = 60):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen within {timeout} s")


def pid_in(path: Path) -> int:
    wait_until(lambda: path.exists() and path.read_text(), f"{path} being written")
    return int(path.read_text())


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_functions_run_on_the_workers(functions_on):
    cluster = functions_on(2)
    factor = 3
    tensor = mt.tensor(ITEMS, chunk_size=4)
    doubled = mt.map_chunk(lambda chunk, plus: chunk * factor + plus, tensor, 1)
    np.testing.assert_array_equal(doubled.to_numpy(), ITEMS * 3 + 1)
    chosen = mt.map_chunk(lambda chunk: chunk[chunk % 7 == 0], tensor.reshape(-1), dtype=float)
    np.testing.assert_array_equal(chosen.to_numpy(), np.arange(0, 60, 7))
    pids = mt.map_chunk(lambda chunk: np.full(chunk.shape, os.getpid()), tensor, dtype=int)
    ours = {os.getpid(), *(role.pid for role in cluster.roles)}
    assert not ours & set(pids.to_numpy().flat)


def test_numpy_and_scipy_compute_there(functions_on):
    pytest.importorskip("scipy")
    functions_on(1)
    tensor = mt.tensor(ITEMS, chunk_size=(2, 10))
    np.testing.assert_allclose(mt.fft.fft(tensor).to_numpy(), np.fft.fft(ITEMS))
    ranks = mt.stats.rankdata(mt.tensor([3.0, 1.0, 2.0]))
    assert ranks.to_numpy().tolist() == [3, 1, 2]


def test_calls_depend_on_each_other(functions_on):
    functions_on(2)
    parts = [mr.spawn(lambda n: {"square": n * n}, number) for number in range(20)]
    total = mr.spawn(lambda many: sum(each["square"] for each in many), (parts,))
    first, second = mr.spawn(lambda value: (value, str(value)), total, n_output=2)
    result = mr.ExecutableTuple([total, first, second]).execute().fetch()
    assert result == [2470, 2470, "2470"]


def test_tensors_are_arguments_and_are_computed_inside(functions_on):
    functions_on(1)
    tensor = mt.tensor(ITEMS, chunk_size=4)

    as_tensor = mr.spawn(lambda t: float((t * 2).sum().to_numpy()), tensor)
    as_array = mr.spawn(lambda a: a.shape, tensor, resolve_tileable_input=True)
    assert as_tensor.execute().fetch() == ITEMS.sum() * 2
    assert as_array.execute().fetch() == (6, 10)


def test_an_exception_comes_with_its_traceback(functions_on):
    functions_on(1)

    def fails(chunk):
        raise ValueError("no such thing")

    result = mt.map_chunk(fails, mt.tensor(ITEMS, chunk_size=4), dtype=float)
    with pytest.raises(ValueError, match="no such thing") as raised:
        result.execute()
    text = str(raised.value) + "".join(getattr(raised.value, "__notes__", []))
    assert "test_functions.py" in text
    assert "in fails" in text
    missing = mr.spawn(lambda: {}["key"])
    with pytest.raises(RuntimeError, match="KeyError: 'key'"):
        missing.execute()


def test_what_cannot_be_pickled_is_refused_before_anything_runs(functions_on, tmp_path):
    functions_on(1)
    lock = threading.Lock()
    trace = tmp_path / "trace"
    before = mr.spawn(lambda: trace.write_text("ran"))
    with pytest.raises(TypeError, match="(?s)cannot be sent to a cluster.*lock"):
        mr.spawn(lambda value: lock.locked(), before).execute()
    assert not trace.exists()
    with pytest.raises(TypeError, match="cannot be pickled"):
        mr.spawn(threading.Lock).execute()


def test_a_function_that_kills_its_process_does_not_kill_the_worker(functions_on, tmp_path):
    cluster = functions_on(1)
    attempts = tmp_path / "attempts"

    def dies():
        with open(attempts, "a") as file:
            file.write("x")
        os._exit(7)

    with pytest.raises(RuntimeError, match="exit code 7"):
        mr.spawn(dies).execute()
    assert 2 <= len(attempts.read_text()) <= 10
    assert cluster.workers["w0"].process.poll() is None
    assert mr.spawn(lambda: 5).execute().fetch() == 5


def test_a_crash_that_happens_once_is_not_seen(functions_on, tmp_path):
    functions_on(1)
    trace = tmp_path / "trace"

    def dies_once(chunk):
        if not trace.exists():
            trace.write_text("died")
            os.kill(os.getpid(), signal.SIGSEGV)
        return chunk + 1

    result = mt.map_chunk(dies_once, mt.tensor(ITEMS, chunk_size=100), dtype=float)
    np.testing.assert_array_equal(result.to_numpy(), ITEMS + 1)
    assert trace.exists()


def test_cancelling_kills_the_function(functions_on, tmp_path):
    functions_on(1)
    trace = tmp_path / "pid"

    def sleeps():
        trace.write_text(str(os.getpid()))
        time.sleep(600)

    running = mr.spawn(sleeps).execute(wait=False)
    pid = pid_in(trace)
    running.cancel()
    with pytest.raises((CancelledError, RuntimeError)):
        running.result(timeout=60)
    wait_until(lambda: is_gone(pid), "the end of the function")
    assert mr.spawn(lambda: 5).execute().fetch() == 5


def test_functions_end_with_their_worker_and_run_elsewhere(functions_on, tmp_path):
    cluster = functions_on(1)
    first = tmp_path / "pid"

    def waits():
        if not first.exists():
            first.write_text(str(os.getpid()))
            time.sleep(600)
        return "again"

    call = mr.spawn(waits)
    running = call.execute(wait=False)
    pid = pid_in(first)
    cluster.start_worker("w1", "--cpu", "1", "--python", sys.executable)
    cluster.workers["w0"].kill()
    wait_until(lambda: is_gone(pid), "the end of the function")
    running.result(timeout=90)
    assert call.fetch() == "again"


def test_what_functions_print_is_in_the_log(functions_on):
    cluster = functions_on(1)
    mr.spawn(print, "a line of mine").execute()
    cluster.workers["w0"].wait_for(r"python.*a line of mine")


def test_functions_do_not_see_secrets(secret_cluster):
    cluster = secret_cluster
    cluster.start_scheduler()
    cluster.start_web()
    cluster.start_worker("w0", "--cpu", "1", "--python", sys.executable)
    cluster.wait_for_workers(1)
    with new_session(cluster.url):
        secret = os.environ["MUSTER_SECRET"]
        seen = mr.spawn(lambda: secret in os.environ.values()).execute().fetch()
    assert seen is False


def test_functions_of_strangers_are_refused(functions_on, tmp_path):
    cluster = functions_on(1)
    trace = tmp_path / "trace"
    code = (
        "import os\n"
        "import muster.remote as mr\n"
        "from muster.session import new_session\n"
        "try:\n"
        "    new_session(os.environ['MUSTER_WEB']).as_default()\n"
        f"    mr.spawn(lambda: open({str(trace)!r}, 'w').close()).execute()\n"
        "    print('it ran')\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    printed = cluster.python(code, MUSTER_RUNTIME_DIR=str(tmp_path / "elsewhere"))
    assert "authenticated" in printed or "token" in printed
    assert not trace.exists()


def test_an_interpreter_without_muster_is_named(cluster_of):
    cluster = cluster_of(1, "--cpu", "1", "--python", "/bin/false")
    with (
        new_session(cluster.url),
        pytest.raises(RuntimeError, match=r"(?s)'/bin/false' cannot run functions.*MUSTER_PYTHON"),
    ):
        mr.spawn(lambda: 5).execute()
    with new_session(cluster.url):
        assert mt.ones(10).sum().to_numpy() == 10
