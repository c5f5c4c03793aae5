"""The seeds' program on a cluster: roles started by the command line, a session over HTTP."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

import muster.tensor as mt
from muster.session import new_session
from tests.engine.cluster import BIN, MUSTER, Role, free_port

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_snippet_runs_over_http(cluster_of, workers):
    cluster = cluster_of(workers)
    new_session(cluster.url).as_default()
    a = mt.ones((2000, 2000), chunk_size=200)
    b = mt.inner(a, a)
    b.execute()
    result = b.fetch()
    assert result.shape == (2000, 2000)
    assert (result == 2000).all()


def test_a_client_in_a_process_of_its_own_needs_no_more_than_the_url(cluster_of):
    cluster = cluster_of(1)
    printed = cluster.python(
        "import os\n"
        "import muster.tensor as mt\n"
        "from muster.session import new_session\n"
        "new_session(os.environ['MUSTER_WEB']).as_default()\n"
        "print(mt.arange(1000, chunk_size=100).sum().execute().fetch())\n"
    )
    assert printed.split()[-1] == "499500"


def test_results_are_those_of_numpy(cluster_of):
    cluster = cluster_of(2)
    with new_session(cluster.url) as session:
        values = np.random.default_rng(7).random((300, 200))
        tensor = mt.tensor(values, chunk_size=64)
        for made, expected in [
            ((tensor * 2 + 1).sum(axis=0), (values * 2 + 1).sum(axis=0)),
            (mt.dot(tensor, tensor.T), values @ values.T),
            (tensor.T, values.T),
            (tensor[10:20, ::3], values[10:20, ::3]),
        ]:
            session.execute(made)
            np.testing.assert_allclose(session.fetch(made), expected)


def test_workers_may_come_while_nothing_is_there(cluster_of):
    cluster = cluster_of(0)
    session = new_session(cluster.url)
    tensor = mt.ones((100, 100), chunk_size=10).sum()
    running = session.submit(tensor)
    cluster.start_worker()
    running.result(timeout=60)
    assert session.fetch(tensor) == 10000


def test_the_commands_show_the_cluster(cluster_of):
    cluster = cluster_of(2)
    session = new_session(cluster.url)
    session.execute(mt.ones(100, chunk_size=10).sum())
    status = cluster.muster("engine", "status", "-u", cluster.url)
    assert status.returncode == 0, status.stderr
    assert "workers     2" in status.stdout
    workers = cluster.muster("engine", "workers", "-u", cluster.url, "-o", "json")
    assert {worker["name"] for worker in json.loads(workers.stdout)} == {"w0", "w1"}
    sessions = cluster.muster("engine", "sessions", "-u", cluster.url, "-o", "json")
    assert len(json.loads(sessions.stdout)) == 1
    tasks = cluster.muster("engine", "tasks", "-u", cluster.url)
    assert tasks.returncode == 0, tasks.stderr
    assert "OPERATOR" in tasks.stdout


def test_a_secret_keeps_strangers_out(secret_cluster):
    cluster = secret_cluster
    cluster.start_scheduler()
    cluster.start_web()
    cluster.start_worker("w0")
    cluster.wait_for_workers(1)
    session = new_session(cluster.url)
    total = mt.ones(100, chunk_size=10).sum()
    session.execute(total)
    assert session.fetch(total) == 100
    stranger = Role(
        [str(MUSTER), "worker", "-s", cluster.scheduler_at],
        {**cluster.env, "MUSTER_SECRET": "another"},
    )
    try:
        assert stranger.process.wait(60) == 1
        assert "MUSTER_SECRET" in stranger.text()
    finally:
        stranger.kill()


def test_a_port_that_is_taken_is_named(cluster_of):
    cluster = cluster_of(0)
    port = cluster.scheduler_at.rpartition(":")[2]
    for arguments in (
        ["scheduler", "-p", port],
        ["web", "-p", port, "-s", cluster.scheduler_at],
    ):
        done = cluster.muster(*arguments)
        assert done.returncode == 1
        assert port in done.stderr


def test_the_names_of_the_predecessor_start_roles(bare_cluster):
    scheduler = Role([str(BIN / "mars-scheduler"), "-a", "127.0.0.1"], bare_cluster.env)
    bare_cluster.roles.append(scheduler)
    place = scheduler.wait_for(r"^scheduler ready at (\S+)$")[1]
    for role in ("worker", "web"):
        command = [str(BIN / f"mars-{role}"), "-a", "127.0.0.1", "-s", place]
        process = Role(command, bare_cluster.env)
        bare_cluster.roles.append(process)
        process.wait_for(rf"^{role}.* ready at")


def test_sigterm_ends_every_role(cluster_of):
    cluster = cluster_of(1)
    assert cluster.workers["w0"].end(signal.SIGTERM) == 0
    assert cluster.web.end(signal.SIGTERM) == 0
    assert cluster.scheduler.end(signal.SIGTERM) == 0
    assert cluster.leftovers() == []


def test_sigterm_to_all_roles_at_once_ends_them_without_waiting_for_each_other(cluster_of):
    cluster = cluster_of(2)
    roles = [cluster.scheduler, cluster.web, *cluster.workers.values()]
    for role in roles:
        role.signal(signal.SIGTERM)
    # A worker that waited for the scheduler to release it would do so for 30 s.
    assert [role.process.wait(20) for role in roles] == [0] * len(roles), cluster.text()
    assert cluster.leftovers() == []


def test_a_journal_of_another_version_is_refused_and_stays(bare_cluster):
    folder = bare_cluster.folder / "journal"
    folder.mkdir(mode=0o700)
    journal = folder / "journal"
    journal.write_text("muster scheduler journal 1\nwhat an older one wrote\n")
    journal.chmod(0o600)
    done = bare_cluster.muster("scheduler", "-p", "0", "--journal-dir", str(folder))
    assert done.returncode == 1
    assert "another version" in done.stderr
    assert "move the file away" in done.stderr
    assert journal.read_text().endswith("what an older one wrote\n")


def test_kubernetes_variables_start_a_worker(cluster_of):
    cluster = cluster_of(0)
    detail = {"cluster": {"scheduler": [cluster.scheduler_at]}, "task": {"type": "worker"}}
    spill = [cluster.spill_dir("spill-a"), cluster.spill_dir("spill-b")]
    env = {
        **cluster.env,
        "MARS_CLUSTER_DETAIL": json.dumps(detail),
        "MARS_CONTAINER_IP": "127.0.0.1",
        "MARS_BIND_PORT": str(free_port()),
        "MARS_CPU_TOTAL": "1",
        "MARS_MEMORY_TOTAL": str(256 << 20),
        "MARS_CACHE_MEM_SIZE": str(64 << 20),
        "MARS_SPILL_DIRS": ",".join(map(str, spill)),
        "MARS_LOCK_FREE_FILEIO": "1",
        "MARS_K8S_POD_NAME": "job-worker-0",
    }
    cluster.roles.append(Role([str(MUSTER), "worker"], env))
    cluster.wait_for_workers(1)
    answer = cluster.muster("engine", "workers", "-u", cluster.url, "-o", "json")
    [worker] = json.loads(answer.stdout)
    assert worker["name"] == "job-worker-0"
    assert worker["threads"] == 1
    assert worker["memory"] == 64 << 20


@pytest.mark.parametrize("role", ["worker", "web"])
def test_a_scheduler_that_is_not_there_is_named(bare_cluster, role):
    nowhere = f"127.0.0.1:{free_port()}"
    done = bare_cluster.muster(role, "-s", nowhere, "--wait", "1s")
    assert done.returncode == 1
    assert f"Is 'muster scheduler' running at {nowhere}" in done.stderr


def test_of_several_schedulers_the_one_that_answers_is_taken(cluster_of):
    cluster = cluster_of(0)
    several = f"127.0.0.1:{free_port()},{cluster.scheduler_at}"
    worker = cluster.start("worker", "-s", several, "--cpu", "1")
    web = cluster.start("web", "-s", several)
    worker.wait_for("ready at")
    web.wait_for("ready at")
    cluster.wait_for_workers(1)
