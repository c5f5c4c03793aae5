"""The ways to start roles: as a job, and as containers do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

import muster.tensor as mt
from muster.session import new_session
from tests.engine.cluster import BIN, MUSTER, ROOT, Role, free_port

pytestmark = pytest.mark.timeout(180)

DEPLOY = "muster.deploy.kubernetes"


@pytest.mark.parametrize("role", ["scheduler", "web", "worker"])
def test_the_module_of_a_role_is_the_command(role):
    done = subprocess.run(
        [sys.executable, "-m", f"{DEPLOY}.{role}", "--help"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert f"muster {role}" in done.stdout


def test_the_module_says_when_the_program_is_missing(tmp_path):
    code = (
        "import sys, muster\n"
        "from muster.deploy.kubernetes import _program\n"
        f"_program.candidates = lambda: [_program.Path({str(tmp_path)!r}) / 'muster']\n"
        "_program.find_program()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "the program 'muster' is missing" in done.stderr
    assert str(tmp_path) in done.stderr


def test_a_scheduler_container_needs_only_its_environment(bare_cluster):
    env = {
        **bare_cluster.env,
        "MARS_CONTAINER_IP": "127.0.0.1",
        "MARS_BIND_PORT": str(free_port()),
        "MARS_CLUSTER_DETAIL": json.dumps({"cluster": {"scheduler": []}}),
    }
    role = Role([sys.executable, "-m", f"{DEPLOY}.scheduler"], env)
    bare_cluster.roles.append(role)
    role.wait_for(rf"^scheduler ready at 127.0.0.1:{env['MARS_BIND_PORT']}$")


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_the_example_job_runs_the_roles(tmp_path, monkeypatch):
    """examples/jobs/engine.yml under process mode, but for its ports, which must be free."""
    scheduler, web = str(free_port()), str(free_port())
    text = (ROOT / "examples" / "jobs" / "engine.yml").read_text()
    job = tmp_path / "engine.yml"
    job.write_text(text.replace("7103", scheduler).replace("7104", web))
    variables = {
        "MUSTER_HOME": str(tmp_path / "home"),
        "MUSTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PATH": f"{BIN}:{os.environ['PATH']}",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    def muster(*arguments: str) -> str:
        done = subprocess.run([str(MUSTER), *arguments], capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    muster("process", "create")
    try:
        muster("process", "job", "start", str(job))
        session = connect(
            f"http://127.0.0.1:{web}", lambda: muster("process", "job", "logs", "engine")
        )
        total = mt.ones((2000, 2000), chunk_size=200).sum()
        session.execute(total)
        assert session.fetch(total) == 4_000_000
        muster("process", "job", "stop", "engine")
    finally:
        muster("process", "delete")


def connect(url: str, logs) -> object:
    """A session as soon as the web role is there."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return new_session(url)
        except Exception as error:
            if time.monotonic() > deadline:
                raise AssertionError(f"{error}\n{logs()}") from error
            time.sleep(0.2)
