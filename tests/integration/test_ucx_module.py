"""What a program says that cannot find, or cannot load, the module of the ucx driver."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import PARTY

MODULE = PARTY.with_name("libmuster_ucx.so")

pytestmark = pytest.mark.skipif(not MODULE.exists(), reason="built without libucx")


def run_alone(folder: Path) -> str:
    """Runs a copy of the program in the folder, and returns its complaint."""
    program = folder / PARTY.name
    shutil.copy(PARTY, program)
    words = [str(program), "worker", "driver=ucx", f"discovery=file:{folder}/store"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1, done
    return done.stdout


def test_without_the_module_it_says_what_to_install(tmp_path: Path) -> None:
    complaint = run_alone(tmp_path)
    assert "unavailable, because its module cannot be loaded" in complaint
    assert "libmuster_ucx.so" in complaint
    assert "install libucx0" in complaint


def test_a_module_that_is_none_is_reported_with_the_loaders_words(tmp_path: Path) -> None:
    (tmp_path / MODULE.name).write_bytes(b"not a library")
    complaint = run_alone(tmp_path)
    assert "unavailable, because" in complaint
    assert str(tmp_path / MODULE.name) in complaint
