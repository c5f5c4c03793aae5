"""The driver over UCX, which is there only when libucx is."""

import os
import signal

import components
import numpy as np
import pytest
from components import PATIENCE, needs_ucx

from muster.communication import (
    DriverType,
    DriverTypeError,
    Message,
    PeersConnectionError,
    Proxy,
    SessionMessage,
)

pytestmark = needs_ucx


@pytest.mark.parametrize("driver_type", [DriverType.UCX, "ucx", "ucx_driver"])
def test_two_proxies_of_one_process_talk(join, driver_type):
    master, worker = join(
        {"component_type": "master", "expected_peers": {"worker": 1}},
        {"component_type": "worker", "expected_peers": {"master": 1}},
        driver_type=driver_type,
    )
    ids = master.isend(SessionMessage("work", master.name, worker.name, np.arange(100_000)))
    request = worker.receive_once(PATIENCE)
    worker.reply(request, body=int(request.body.sum()))
    [reply] = master.receive_by_id(ids, PATIENCE)
    assert reply.body == sum(range(100_000))


def test_it_uses_tcp_when_it_is_told_to(start, group):
    options = {"driver_type": DriverType.UCX, "driver_parameters": {"transports": "tcp"}}
    start(components.echo, group, "w", **options)
    with Proxy(group, "master", {"worker": 1}, **options) as master:
        body = np.arange(3_000_000, dtype=np.int64)
        [reply] = master.send(SessionMessage("work", master.name, "w", body), PATIENCE)
        assert (reply.body == body).all()
        master.isend(Message("stop", master.name, "w"))


def test_a_killed_peer_ends_the_wait_for_its_reply(start, group):
    start(components.report_pid, group, "w", driver_type="ucx")
    with Proxy(group, "master", {"worker": 1}, driver_type="ucx") as master:
        [reply] = master.send(Message("pid", master.name, "w"), PATIENCE)
        ids = master.isend(SessionMessage("work", master.name, "w", b"x" * 10_000_000))
        os.kill(reply.body, signal.SIGKILL)
        with pytest.raises(PeersConnectionError, match="w"):
            master.receive_by_id(ids, PATIENCE)


def test_a_wrong_device_or_option_is_a_clear_error(group):
    def error(**parameters):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            Proxy(group, "m", {"w": 1}, driver_type="ucx", driver_parameters=parameters)
        return caught.value

    assert "MUSTER_SECRET" in str(error(devices="eth0"))
    assert "ucx.transports" in str(error(transport="tcp"))
    assert isinstance(error(transports="pigeon"), DriverTypeError)
