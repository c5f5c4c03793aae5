"""Tensors of PyTorch. Debian's PyTorch belongs to Debian's interpreter, so the ranks run there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import muster

RANK = Path(__file__).with_name("torch_rank.py")
SIZE = 2


def has_torch(interpreter: str) -> bool:
    """And is of our version, so that it can load what was built for us."""
    code = "import sys, importlib.util as u; print(*sys.version_info[:2], u.find_spec('torch'))"
    try:
        answer = subprocess.run(
            [interpreter, "-c", code], capture_output=True, text=True, timeout=60
        )
    except OSError:
        return False
    major, minor, *found = answer.stdout.split()
    return (int(major), int(minor)) == sys.version_info[:2] and found != ["None"]


def test_tensors_of_torch_are_used_where_they_lie(name):
    interpreter = next(filter(has_torch, (sys.executable, "/usr/bin/python3")), None)
    if interpreter is None:
        pytest.skip("no interpreter of this version has torch")
    environment = {**os.environ, "PYTHONPATH": str(Path(muster.__file__).parents[1])}
    children = [
        subprocess.Popen(
            [interpreter, str(RANK), str(rank), str(SIZE), name],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(SIZE)
    ]
    try:
        problems = [child.communicate(timeout=240)[1] for child in children]
    finally:
        for child in children:
            child.kill()
    assert [child.returncode for child in children] == [0] * SIZE, "\n".join(problems)
