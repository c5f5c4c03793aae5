import logging
import subprocess
import sys

from components import join_all

from muster import _core


def test_lines_of_the_library_go_to_pythons_logging(caplog, group):
    caplog.set_level(logging.INFO, "muster")
    master, worker = join_all(
        {"group_name": group, "component_type": "master", "expected_peers": {"worker": 1}},
        {"group_name": group, "component_type": "worker", "expected_peers": {"master": 1}},
    )
    worker.close()
    for _ in range(100):
        master.receive_once(50)
        if worker.name in caplog.text:
            break
    assert worker.name in caplog.text
    assert all(record.name.startswith("muster.") for record in caplog.records)
    master.close()


def test_the_level_is_pythons():
    for level in (logging.DEBUG, logging.WARNING, logging.CRITICAL, 0, 35):
        _core.set_log_level(level)
    _core.set_log_level(logging.WARNING)


def test_the_level_comes_from_the_environment():
    program = "import logging, muster.communication; print(logging.getLogger('muster').level)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"MUSTER_LOG_LEVEL": "debug", "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert (done.stdout, done.stderr) == ("10\n", "")
