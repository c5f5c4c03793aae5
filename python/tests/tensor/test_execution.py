"""Executions that are watched, cancelled and interrupted."""

import _thread
import io
import subprocess
import sys
import threading
from concurrent.futures import CancelledError

import numpy as np
import pytest

import muster
import muster.tensor as mt
from muster import _progress
from muster.tensor._call import constant

WAIT = 30


@pytest.fixture
def gate():
    """An event that lets chunks through; opened at the end, so that no thread stays."""
    event = threading.Event()
    yield event
    event.set()


def waiting(gate, chunks=4):
    def wait(chunk):
        if not gate.wait(WAIT):
            raise TimeoutError("nobody opened the gate")
        return chunk

    tensor = constant(np.arange(float(chunks)), chunk_size=1)
    return mt.map_chunk(wait, tensor, dtype=float, elementwise=True)


@pytest.mark.here
def test_an_execution_may_go_on_by_itself(gate):
    tensor = waiting(gate)
    info = tensor.execute(wait=False)
    assert not info.done()
    assert 0 <= info.progress() < 1
    with pytest.raises(TimeoutError):
        info.result(timeout=0.01)
    gate.set()
    assert info.result(timeout=WAIT) is tensor
    assert info.progress() == 1
    np.testing.assert_array_equal(tensor.fetch(), np.arange(4.0))


@pytest.mark.here
def test_it_gives_back_all_that_were_executed(gate):
    gate.set()
    first, second = waiting(gate), waiting(gate)
    assert muster.execute(first, second, wait=False).result(WAIT) == (first, second)


def test_its_exception_is_raised_by_result():
    info = mt.map_chunk(lambda c: 1 / 0, constant(np.ones(3)), dtype=float).execute(wait=False)
    with pytest.raises(ZeroDivisionError):
        info.result(WAIT)
    assert info.done()


def slowly(gate):
    """Chunk after chunk takes a while, until the gate is open."""

    def wait(chunk):
        gate.wait(0.05)
        return chunk

    tensor = constant(np.arange(1000.0), chunk_size=1)
    return mt.map_chunk(wait, tensor, dtype=float, elementwise=True)


def test_an_execution_can_be_cancelled(gate):
    session = muster.new_session(n_cpu=1)
    tensor = slowly(gate)
    info = tensor.execute(session, wait=False)
    info.cancel()
    with pytest.raises(CancelledError):
        info.result(WAIT)
    gate.set()
    np.testing.assert_array_equal(tensor.execute(session).fetch(), np.arange(1000.0))


def test_an_execution_has_a_deadline(gate):
    with pytest.raises(TimeoutError, match="did not end in time"):
        slowly(gate).execute(muster.new_session(n_cpu=1), timeout=0.1)


def test_control_c_ends_an_execution(gate):
    slow = slowly(gate)
    session = muster.new_session(n_cpu=1)
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        slow.execute(session)
    assert not slow._handle.is_executed
    gate.set()
    np.testing.assert_array_equal(slow.execute(session).fetch(), np.arange(1000.0))


class Opens(io.StringIO):
    """Opens the gate when the first line is written."""

    def __init__(self, gate):
        super().__init__()
        self.gate = gate

    def write(self, text):
        self.gate.set()
        return super().write(text)


@pytest.mark.here
def test_long_executions_show_a_bar(gate, monkeypatch):
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(_progress, "_PERIOD", 0.01)
    shown = Opens(gate)
    monkeypatch.setattr(sys, "stderr", shown)
    waiting(gate).execute(show_progress=True)
    lines = shown.getvalue().split("\r")
    assert lines[1].startswith("  0 % |------")
    assert lines[-1].startswith("100 % |######")
    assert "4/4 tasks" in lines[-1]
    assert lines[-1].endswith("\n")


@pytest.mark.here
def test_short_executions_show_nothing(gate, monkeypatch):
    gate.set()
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    waiting(gate).execute(show_progress=True)
    with muster.option_context(show_progress=False):
        waiting(gate).execute()
    assert shown.getvalue() == ""
    with pytest.raises(ValueError, match="show_progress is 3"):
        waiting(gate).execute(show_progress=3)


def test_a_program_may_end_while_an_execution_goes_on():
    program = """
import time, muster.tensor as mt
chunks = mt.random.rand(1000, chunk_size=1)
slow = mt.map_chunk(lambda chunk: time.sleep(0.05) or chunk, chunks, dtype=float)
slow.execute(wait=False)
print("over")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], timeout=50, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")


def test_the_bar_says_tasks_bytes_and_the_time_that_is_left():
    text = _progress.line(25, 100, 12.3, made=3 * 2**20, rate=5.0)
    assert text.startswith(" 25 % |#######-")
    assert text.endswith("| 25/100 tasks, 3.0 MiB, 12.3 s, 15.0 s left")
    assert _progress.line(0, 0, 1.0).endswith("| 0/0 tasks, 1.0 s")
    assert _progress.line(10, 10, 3725.0, made=512, rate=1.0).endswith("512 B, 1:02:05 h")
    assert _progress.line(1, 3, 65.0, rate=0.01).endswith("1:05 min, 3:20 min left")


def test_the_rate_of_the_bar_survives_a_dip():
    rate = _progress._Rate()
    assert rate.add(1.0, 10) == 10
    assert rate.add(2.0, 4) == 10, "tasks were lost, but those to come are as quick"
    assert rate.add(3.0, 9) == 9
