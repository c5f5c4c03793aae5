"""The job of scripts/demo: it learns, says so when it does not, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAIN = ROOT / "examples" / "demo" / "train.py"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    """The discovery folder is empty in the end."""
    folder = tmp_path / "runtime"
    monkeypatch.setenv("MUSTER_RUNTIME_DIR", str(folder))
    yield
    assert list(folder.iterdir()) == []


def start(*arguments: str) -> subprocess.Popen[str]:
    """Starts the job in a process group of its own, as a shell does."""
    return subprocess.Popen(
        [sys.executable, str(TRAIN), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def processes_of(group: int) -> Iterator[str]:
    """The command lines of the processes in a process group."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                yield (folder / "cmdline").read_text()
        except OSError:
            continue  # it has ended meanwhile


def end_of(job: subprocess.Popen[str]) -> str:
    """What the job printed; nobody is left of it."""
    try:
        output, _ = job.communicate(timeout=240)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
    assert list(processes_of(job.pid)) == []
    return output


def test_the_pendulum_is_learned_although_an_actor_is_killed(tmp_path):
    picture = tmp_path / "curve.png"
    job = start("--seed", os.environ.get("MUSTER_TEST_SEED", "1"), "--picture", str(picture))
    output = end_of(job)
    assert job.returncode == 0, output
    assert "The pendulum stands" in output
    assert "1 rejoined" in output
    assert str(picture) in output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_job_that_did_not_learn_fails_and_says_so(tmp_path):
    job = start("--rounds", "1", "--calm", "--picture", str(tmp_path / "curve.png"))
    output = end_of(job)
    assert job.returncode == 1
    assert "FAILED: the return is" in output
    assert "at least -300 is required" in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_everything(tmp_path, number):
    picture = tmp_path / "curve.png"
    job = start("--rounds", "100000", "--picture", str(picture))
    for line in job.stdout:
        if line.startswith("    1 "):
            break
    os.killpg(job.pid, number)
    output = end_of(job)
    assert job.returncode == 130
    assert output.endswith("Interrupted; all actors have stopped.\n")
    assert not picture.exists()
