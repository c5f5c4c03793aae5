"""`muster run` from outside: programs that take their rank from the environment."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
RANKS = 3
PATIENCE = 40  # seconds; less than what pytest allows


@pytest.fixture(autouse=True)
def runtime_dir(monkeypatch):
    """Where the ranks of one test find each other. Short, because sockets go there."""
    folder = tempfile.mkdtemp(prefix="mst")
    monkeypatch.setenv("MUSTER_RUNTIME_DIR", folder)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def start():
    """Starts `muster run` with its output in one pipe; it is interrupted when it takes too long,
    and nothing is left of it."""
    runs = []

    def start(*program, options=()):
        # A script has what it starts in the background ignore some signals.
        muster = ["env", "--default-signal=HUP,INT,QUIT", BIN / "muster"]
        command = [*muster, "run", "-n", str(RANKS), *options, "--", *program]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        watch = threading.Timer(PATIENCE, run.kill)
        watch.start()
        runs.append((run, watch))
        return run

    yield start
    for run, watch in runs:
        watch.cancel()
        run.kill()  # its ranks end with it
        run.wait(PATIENCE)
        run.stdout.close()


def read_until_all_said(run, word):
    """The lines up to the one in which the last rank says a word."""
    lines = []
    said = set()
    while len(said) < RANKS:
        line = run.stdout.readline()
        assert line, f"'{word}' is not said by all: {lines}"
        lines.append(line)
        if match := re.fullmatch(rf"\[(\d+)\] {word}\n", line):
            said.add(match[1])
    return lines


@pytest.mark.parametrize(
    "program", [[BIN / "pi"], [sys.executable, ROOT / "examples" / "python" / "pi.py"]]
)
def test_programs_compute_together(start, program):
    run = start(*program)
    assert run.stdout.read() == "[0] pi is 3.141593, say 3 ranks\n"
    assert run.wait(PATIENCE) == 0


LISTS_THE_STORE = """
import os, sys
from muster.collective import Group

with Group.from_environment() as group:
    print("here:", any(files for _, _, files in os.walk(sys.argv[1])), flush=True)
    group.barrier()
"""


def test_ranks_find_each_other_where_discovery_says(start, tmp_path):
    store = tmp_path / "store"
    options = ["--discovery", f"file:{store}"]
    run = start(sys.executable, "-c", LISTS_THE_STORE, store, options=options)
    output = run.stdout.read()
    assert run.wait(PATIENCE) == 0, output
    assert sorted(output.splitlines()) == [f"[{rank}] here: True" for rank in range(RANKS)]


LOSES_RANK_1 = """
import os, signal
import numpy as np
from muster.collective import Group

with Group.from_environment() as group:
    group.barrier()
    if group.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        group.allreduce(np.ones(1000))
"""


def test_a_rank_that_is_killed_ends_the_others_with_its_status(start):
    run = start(sys.executable, "-c", LOSES_RANK_1)
    output = run.stdout.read()
    assert run.wait(PATIENCE) == 128 + signal.SIGKILL, output
    assert "muster: rank 1 of 3: signal 9 (SIGKILL)\n" in output


@pytest.mark.parametrize(
    ("program", "last_words", "ranks"),
    [
        ([BIN / "data_parallel"], r"rank (\d) of (\d): the weights are off", "01"),
        (
            [sys.executable, ROOT / "examples" / "python" / "data_parallel.py"],
            r"rank (\d) ended in a group of (\d)",
            "02",
        ),
    ],
    ids=["cpp", "python"],
)
def test_training_goes_on_without_a_rank_that_is_killed(start, program, last_words, ranks):
    run = start(*program, options=["--keep-going"])
    output = run.stdout.read()
    assert run.wait(PATIENCE) == 128 + signal.SIGKILL, output
    assert "muster: rank 1 of 3: signal 9 (SIGKILL)\n" in output
    assert sorted(re.findall(last_words, output)) == [(rank, "2") for rank in ranks], output


@pytest.mark.parametrize(
    "program",
    [[BIN / "sample_sort"], [sys.executable, ROOT / "examples" / "python" / "sample_sort.py"]],
    ids=["cpp", "python"],
)
def test_numbers_are_sorted_over_the_ranks(start, program):
    run = start(*program)
    output = run.stdout.read()
    assert run.wait(PATIENCE) == 0, output
    words = r"\[\d\] rank (\d) has (\d+) numbers from (\d+) to (\d+)\n"
    parts = sorted([int(word) for word in line] for line in re.findall(words, output))
    assert [rank for rank, *_ in parts] == list(range(RANKS)), output
    assert sum(count for _, count, *_ in parts) == RANKS * 100_000
    borders = [edge for *_, first, last in parts for edge in (first, last)]
    assert borders == sorted(borders)


WAIT_FOR_EACH_OTHER = """
import atexit, time
import numpy as np
from muster.collective import Group

def clean_up():
    time.sleep(0.2 * group.rank)
    print("clean", flush=True)

with Group.from_environment() as group:
    atexit.register(clean_up)
    group.barrier()
    print("ready", flush=True)
    group.recv(np.empty(1), (group.rank + 1) % group.size)
"""


def test_an_interrupt_leaves_every_rank_the_time_to_end_properly(start):
    run = start(sys.executable, "-c", WAIT_FOR_EACH_OTHER)
    read_until_all_said(run, "ready")
    run.send_signal(signal.SIGINT)
    read_until_all_said(run, "clean")
    assert run.wait(PATIENCE) == 128 + signal.SIGINT


@pytest.mark.parametrize("name", ["TERM", "HUP", "QUIT"])
def test_signals_go_to_all_ranks(start, name):
    run = start(
        "sh", "-c", f"trap 'echo told; exit 0' {name}; echo ready; while :; do sleep 0.02; done"
    )
    read_until_all_said(run, "ready")
    run.send_signal(getattr(signal, f"SIG{name}"))
    read_until_all_said(run, "told")
    assert run.wait(PATIENCE) == 0
