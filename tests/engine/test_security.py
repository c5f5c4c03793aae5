"""Who may do what: tokens, TLS, and sessions of others."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import muster.tensor as mt
from muster.session import new_session
from tests.engine.cluster import Cluster

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def identity(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        + ["-nodes", "-days", "2", "-subj", "/CN=muster", "-addext", "subjectAltName=IP:127.0.0.1"]
        + ["-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    return certificate, key


def token_of(cluster: Cluster) -> str:
    files = list(Path(cluster.env["MUSTER_RUNTIME_DIR"]).glob("web-*.token"))
    return files[0].read_text().strip()


def ask(cluster: Cluster, method: str, path: str, token: str) -> tuple[int, object]:
    request = urllib.request.Request(
        cluster.url + path, method=method, headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return reply.status, json.loads(reply.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def test_everything_works_over_tls(bare_cluster: Cluster, identity: tuple[Path, Path]) -> None:
    certificate, key = identity
    bare_cluster.start_scheduler()
    bare_cluster.start_web("--tls-certificate", str(certificate), "--tls-key", str(key))
    assert bare_cluster.url.startswith("https://")
    bare_cluster.start_worker("w0")
    session = new_session(bare_cluster.url, tls_ca=str(certificate))
    numbers = np.arange(1_000_000.0)
    made = mt.tensor(numbers, chunk_size=100_000) * 2
    session.execute(made)
    np.testing.assert_array_equal(session.fetch(made), numbers * 2)
    done = bare_cluster.muster(
        "engine", "workers", "-u", bare_cluster.url, "--tls-ca", str(certificate)
    )
    assert done.returncode == 0, done.stderr
    assert "w0" in done.stdout
    with pytest.raises(ConnectionError, match="certificate"):
        new_session(bare_cluster.url, timeout=2)
    with pytest.raises(ConnectionError):
        new_session(bare_cluster.url.replace("https", "http"), timeout=2)


def test_the_token_is_shown_nowhere(cluster_of: Callable[..., Cluster]) -> None:
    cluster = cluster_of(1, "--cpu", "1", "--log-level", "debug")
    token = token_of(cluster)
    session = new_session(cluster.url)
    session.execute(mt.ones(10))
    with pytest.raises(PermissionError):
        new_session(cluster.url, token="wrong")
    for path in ("/api/logs?role=web", "/api/logs?role=scheduler", "/api/logs?worker=w0"):
        status, lines = ask(cluster, "GET", path, token)
        assert status == 200
        assert token not in json.dumps(lines)
    assert token not in cluster.text()
    for role in cluster.roles:
        assert token not in Path(f"/proc/{role.pid}/cmdline").read_text()


def test_a_session_is_its_clients_alone(cluster_of: Callable[..., Cluster]) -> None:
    cluster = cluster_of(1)
    token = token_of(cluster)
    session = new_session(cluster.url)
    made = mt.ones(1000, chunk_size=100)
    session.execute(made)
    _, listed = ask(cluster, "GET", "/api/sessions", token)
    number = listed["sessions"][0]["session"]
    execution = listed["sessions"][0]["executions"][0]["execution"]
    base = f"/api/sessions/{number}"
    assert ask(cluster, "GET", f"{base}/executions/{execution}", token)[0] == 200, "may look"
    for method, path in (
        ("GET", f"{base}/tensors/t1"),
        ("GET", f"{base}/tensors/t1/chunks/0"),
        ("DELETE", f"{base}/tensors/t1"),
        ("DELETE", f"{base}/executions/{execution}"),
        ("POST", f"{base}/alive"),
        ("DELETE", base),
    ):
        assert ask(cluster, method, path, token)[0] == 404, (method, path)
        assert ask(cluster, method, path, "wrong")[0] == 401, (method, path)
    assert session.fetch(made).sum() == 1000


def test_whoever_only_looks_keeps_no_session_alive(cluster_of: Callable[..., Cluster]) -> None:
    cluster = cluster_of(1)
    token = token_of(cluster)
    gone = (
        "import os, muster.tensor as mt\n"
        "from muster.session import new_session\n"
        "session = new_session(os.environ['MUSTER_WEB'], session_timeout=1.5)\n"
        "session.execute(mt.ones(100))\n"
        "os._exit(0)\n"
    )
    cluster.python(gone)
    _, listed = ask(cluster, "GET", "/api/sessions", token)
    number = listed["sessions"][0]["session"]
    execution = listed["sessions"][0]["executions"][0]["execution"]
    deadline = time.monotonic() + 30
    path = f"/api/sessions/{number}/executions/{execution}/tasks"
    while ask(cluster, "GET", path, token)[0] == 200:
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.1)
    assert ask(cluster, "GET", "/api/sessions", token)[1] == {"sessions": []}
