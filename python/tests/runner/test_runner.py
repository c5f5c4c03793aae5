"""`python -m muster._runner`, driven as a worker would."""

import contextlib
import os
import select
import socket
import subprocess
import sys

import cloudpickle
import numpy as np
import pytest

from muster._runner._frames import MOST_INLINE, receive, send


class Runner:
    """A process that runs functions, and what a worker would ask it."""

    def __init__(self, arena: bytes = b"", *options: str) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(30)
        file = os.memfd_create("arena")
        os.write(file, arena or b"\0")
        arguments = [f"--socket={theirs.fileno()}", f"--arena={file}", f"--parent={os.getpid()}"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "muster._runner", *arguments, *options],
            pass_fds=[theirs.fileno(), file],
        )
        theirs.close()
        os.close(file)
        self.hello = self.receive()[0]
        self._functions = 0

    def receive(self):
        message = receive(self.socket)
        assert message is not None, "the process is gone"
        return message

    def ask(self, pickled=b"", inputs=(), function=1, outputs=1, index=None, **changes):
        extra = [pickled]
        parts, at = [], 64 * -(-len(pickled) // 64)
        for each in inputs:
            if isinstance(each, dict):
                parts.append(each)
                continue
            parts.append(described(each, at) | {"inline": True})
            extra.append(each.tobytes())
            at += 64 * -(-each.nbytes // 64)
        body = b"".join(part + bytes(-len(part) % 64) for part in extra)
        head = {
            "function": function,
            "name": "f",
            "pickled": len(pickled),
            "forget": False,
            "inputs": parts,
            "index": index,
            "outputs": outputs,
            "most": 1 << 30,
        }

        def fill(room):
            room[:] = body

        send(self.socket, head | changes, len(body), fill)
        return self.receive()

    def call(self, func, *inputs, **options):
        self._functions += 1
        pickled = cloudpickle.dumps(func)
        head, rest = self.ask(pickled, inputs, self._functions, **options)
        assert head["ok"], head
        return [
            np.ndarray(each["shape"], each["dtype"], rest, each["at"]) for each in head["outputs"]
        ]

    def error_of(self, func, *inputs, **options):
        head, _ = self.ask(cloudpickle.dumps(func), inputs, 99, **options)
        assert not head["ok"]
        return head


def described(array, at):
    return {
        "dtype": array.dtype.name,
        "shape": array.shape,
        "strides": array.strides,
        "at": at,
    }


@pytest.fixture
def run():
    runners = []

    def start(*arguments):
        runners.append(Runner(*arguments))
        return runners[-1]

    yield start
    for runner in runners:
        runner.socket.close()
        assert runner.process.wait(20) is not None


def test_it_says_hello_and_leaves_with_the_socket(run):
    runner = run()
    assert runner.hello["hello"] == 1
    runner.socket.close()
    assert runner.process.wait(20) == 0


def test_chunks_are_read_where_they_lie(run):
    items = np.arange(12.0)
    runner = run(bytes(64) + items.tobytes())
    place = described(items.reshape(3, 4), 64) | {"inline": False}

    def look(arrays):
        (array,) = arrays
        return [array.T, np.array([array.flags.writeable, type(array.base).__name__ == "mmap"])]

    seen, facts = runner.call(look, place, outputs=2)
    np.testing.assert_array_equal(seen, items.reshape(3, 4).T)
    assert facts.tolist() == [False, True]
    outside = place | {"at": 128}
    assert runner.error_of(lambda arrays: arrays[0], outside)["kind"] == "ValueError"


@pytest.mark.parametrize("count", [0, 1, MOST_INLINE // 8, 1 << 18])
def test_short_and_long_arrays_come_and_go(run, count):
    items = np.random.default_rng(1).random(count)
    (result,) = run().call(lambda arrays: arrays[0] + 1, items)
    np.testing.assert_array_equal(result, items + 1)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "c16", "M8[ns]", "m8[D]"])
def test_every_dtype(run, dtype):
    items = np.arange(6).astype(dtype).reshape(2, 3)
    (result,) = run().call(lambda arrays: arrays[0][::-1], items)
    assert result.dtype == items.dtype
    np.testing.assert_array_equal(result, items[::-1])


def test_functions_are_kept_by_number(run):
    runner = run()

    def counting():
        calls = []

        def count(arrays):
            calls.append(1)
            return np.int64(len(calls))

        return count

    for number in (1, 2, 3):
        head, rest = runner.ask(cloudpickle.dumps(counting()) if number == 1 else b"")
        assert np.ndarray((), "i8", rest, head["outputs"][0]["at"]) == number
    assert runner.ask(b"", forget=True)[0]["type"] == "KeyError"


def test_the_place_of_the_chunk_is_given(run):
    (result,) = run().call(lambda arrays, index: np.array(index), index=[3, 4])
    assert result.tolist() == [3, 4]


def test_exceptions_are_text(run):
    class OddError(ValueError):
        pass

    def fails(arrays):
        raise OddError("odd")

    runner = run()
    error = runner.error_of(fails)
    assert (error["kind"], error["type"], error["message"]) == ("ValueError", "OddError", "odd")
    assert 'raise OddError("odd")' in error["traceback"]
    assert "_serve.py" not in error["traceback"]
    assert runner.error_of(lambda arrays: sys.exit(3))["type"] == "SystemExit"
    assert len(runner.error_of(lambda arrays: [][("x" * 10**6) and 1])["message"]) < 20000
    assert "dtype '|O'" in runner.error_of(lambda arrays: object())["message"]
    assert "3 results instead of 1" in runner.error_of(lambda arrays: [1, 2, 3])["message"]
    assert runner.error_of(lambda arrays: np.zeros(100), most=99)["kind"] == "MemoryError"
    head, _ = runner.ask(b"cno_such_module\nf\n.", function=7)
    assert "register_pickle_by_value" in head["message"]


def test_a_function_may_compute_tensors_itself(run):
    def doubled(arrays):
        import muster.tensor as mt

        return (mt.tensor(arrays[0], chunk_size=2) * 2).to_numpy()

    (result,) = run().call(doubled, np.arange(5.0))
    assert result.tolist() == [0, 2, 4, 6, 8]


def test_a_fork_in_a_function_does_not_answer_twice(run):
    runner = run()

    def forks(arrays):
        return np.int64(os.getpid()) + 0 * (os.fork() == 0)

    (first,) = runner.call(forks)
    (second,) = runner.call(lambda arrays: np.int64(os.getpid()))
    assert first == second == runner.process.pid


def test_a_limit_of_memory_is_an_exception(run):
    runner = run(b"", "--memory=2000000000")
    assert runner.error_of(lambda arrays: np.ones(1 << 30))["kind"] == "MemoryError"


def test_it_ends_with_the_worker():
    program = (
        "import os, socket, subprocess, sys\n"
        "ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "process = subprocess.Popen([sys.executable, '-m', 'muster._runner',\n"
        "    f'--socket={theirs.fileno()}', f'--parent={os.getpid()}'],\n"
        "    pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL)\n"
        "ours.recv(1)\n"  # It is there.
        "print(process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    worker = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, timeout=60)
    with contextlib.suppress(ProcessLookupError):
        process = os.pidfd_open(int(worker.stdout))
        assert select.select([process], [], [], 20)[0]
        os.close(process)
