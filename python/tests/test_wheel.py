"""`pip install .` in a fresh environment, as a user does it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROBE = """
import importlib.resources
import muster

files = {entry.name for entry in importlib.resources.files(muster).iterdir()}
assert {"py.typed", "_core.pyi"} <= files, files
print(muster.__version__)
"""


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_pip_install_works_in_a_fresh_environment(tmp_path):
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin" / "pip", "install", "--quiet", ROOT], check=True)
    probe = [environment / "bin" / "python", "-c", PROBE]
    result = subprocess.run(probe, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert result.stdout.count(".") == 2
