"""The case files of tests/tensor/cases, through Python."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tensor_cases import FILES, FOLDER, check_file

import muster
from muster._options import option_context


@pytest.mark.parametrize(("chunk_size", "n_cpu"), [(1_000_000, 1), (2, 2)])
@pytest.mark.parametrize("name", FILES)
def test_gives_what_numpy_gives(name: str, chunk_size: int, n_cpu: int) -> None:
    with muster.new_session(n_cpu=n_cpu), option_context(eager_mode=False):
        check_file(name, chunk_size)


def test_the_files_are_as_they_are_generated() -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "generate.py"), "--check"], capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
