"""`pip install .` in a fresh environment, as a user does it."""

import os
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
    # Compiled as scripts/build does it, so that ccache has most of it.
    install = [environment / "bin" / "pip", "install", "--quiet"]
    install += ["--config-settings=cmake.define.MUSTER_WERROR=ON", ROOT]
    subprocess.run(install, check=True, env={**os.environ, "CC": "cc", "CXX": "c++"})
    probe = [environment / "bin" / "python", "-c", PROBE]
    result = subprocess.run(probe, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert result.stdout.count(".") == 2
    for program in ("muster", "mars-worker"):
        command = [environment / "bin" / program, "--help"]
        shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
        assert "muster" in shown.stdout
