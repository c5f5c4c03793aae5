"""Ctrl-C, in a process of its own."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import ranks

PROGRAM = Path(__file__).with_name("interrupted_rank.py")
CALLS = ["agree", "recv", "wait", "grow", "split", "allreduce", "shrink"]


def next_line(child):
    """What the program says next; it is killed when it says nothing for long."""
    watch = threading.Timer(ranks.PATIENCE, child.kill)
    watch.start()
    try:
        return child.stdout.readline().strip()
    finally:
        watch.cancel()


def test_everything_that_waits_can_be_interrupted(name):
    child = subprocess.Popen([sys.executable, PROGRAM, name], stdout=subprocess.PIPE, text=True)
    seen = []
    try:
        while line := next_line(child):
            _, _, what = line.partition(" ")
            assert line == f"waiting {what}"
            time.sleep(0.1)  # so that it really waits; sooner is no harm
            child.send_signal(signal.SIGINT)
            assert next_line(child) == f"interrupted {what}"
            seen.append(what)
        assert child.wait(ranks.PATIENCE) == 0
    finally:
        child.kill()
        child.wait(ranks.PATIENCE)
    pairs = [f"{call} {plane}" for plane in ("shared", "network") for call in CALLS]
    assert seen == ["join", "from_environment", *pairs]
