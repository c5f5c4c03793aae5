"""What a launcher tells a component through its environment."""

from __future__ import annotations

import threading

import pytest

from muster.communication import Proxy, SessionMessage
from muster.communication._options import peers_of_job


@pytest.fixture
def job(monkeypatch, tmp_path):
    monkeypatch.setenv("MUSTER_GROUP", "job1")
    monkeypatch.setenv("MUSTER_PEERS", "learner:1,actor:1")
    monkeypatch.setenv("MUSTER_DISCOVERY", f"file:{tmp_path / 'peers'}")
    return tmp_path


def test_a_component_of_a_job_needs_no_arguments(job, monkeypatch):
    monkeypatch.setenv("COMPONENT_TYPE", "actor")
    monkeypatch.setenv("COMPONENT_NAME", "actor_0")
    other: list[Proxy] = []
    learner = threading.Thread(
        target=lambda: other.append(Proxy(component_type="learner", component_name="learner_0"))
    )
    learner.start()
    with Proxy() as proxy:
        learner.join(60)
        assert proxy.name == "actor_0"
        assert proxy.group_name == "job1"
        assert proxy.peers == {"learner": ["learner_0"]}
        proxy.isend(SessionMessage("hello", proxy.name, "learner_0"))
        assert other[0].receive_once(timeout=10_000).tag == "hello"
        other[0].close()
    assert (job / "peers").is_dir()


def test_without_a_launcher_the_arguments_are_needed(monkeypatch):
    monkeypatch.delenv("MUSTER_GROUP", raising=False)
    with pytest.raises(TypeError, match="group_name.*MUSTER_GROUP"):
        Proxy()


def test_peers_are_the_other_types_or_else_ones_own_kind():
    assert peers_of_job("learner:1,actor:4", "actor") == {"learner": 1}
    assert peers_of_job("worker:3", "worker") == {"worker": 2}
    with pytest.raises(ValueError, match="MUSTER_PEERS"):
        peers_of_job("learner", "learner")
