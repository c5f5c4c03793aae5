"""Roles of different versions of Muster."""

from __future__ import annotations

import json
import struct

import pytest

import muster
from muster.communication import Proxy, SessionMessage

pytestmark = pytest.mark.timeout(180)


def text(value: str) -> bytes:
    return struct.pack("<I", len(value)) + value.encode()


@pytest.mark.parametrize(
    ("registration", "said"),
    [
        (b"MREG" + struct.pack("<I", 77) + text("99.1") + b"?", "Muster 99.1 (wire version 77)"),
        (text("stranger") + text("host") + bytes(40), "an older Muster"),
    ],
)
def test_a_scheduler_refuses_workers_of_another_version(bare_cluster, registration, said):
    scheduler = bare_cluster.start_scheduler()
    with Proxy(
        group_name="muster-engine",
        component_type="worker",
        component_name="stranger",
        expected_peers={"scheduler": 1},
        discovery=f"tcp://{bare_cluster.scheduler_at}",
    ) as stranger:
        message = SessionMessage(
            tag="engine.join", source="stranger", destination="scheduler", body=registration
        )
        (reply,) = stranger.send(message, timeout=30)
    status, length = struct.unpack_from("<iQ", reply.body)
    error = json.loads(bytes(reply.body)[12 : 12 + length])["error"]
    assert status == 426
    assert "worker 'stranger' is " + said in error
    assert f"the scheduler is Muster {muster.__version__}" in error
    assert "Install the same version" in error
    scheduler.wait_for("worker 'stranger' is ")

    bare_cluster.start_web()
    bare_cluster.start_worker("w0")
    bare_cluster.wait_for_workers(1)
