# ruff: noqa: E501  (programs of others)
"""Programs written for the predecessor, with one import changed.

They follow its documentation and tests, in the spellings of its several versions.
"""

import importlib
import subprocess
import sys
import textwrap

import pytest


def run(program, *arguments, **environment):
    import os

    text = textwrap.dedent(program).replace("maro.communication", "muster.communication")
    done = subprocess.run(
        [sys.executable, "-c", text, *arguments],
        timeout=55,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.splitlines()


def run_file(tmp_path, program, *arguments):
    """As a file, so that child processes can be spawned from it."""
    text = textwrap.dedent(program).replace("maro.communication", "muster.communication")
    path = tmp_path / "program.py"
    path.write_text(text)
    command = [sys.executable, str(path), *arguments]
    done = subprocess.run(command, timeout=55, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "module",
    [
        "message",
        "proxy",
        "driver",
        "driver.abs_driver",
        "driver.driver_type",
        "driver.zmq_driver",
        "registry_table",
        "dist_decorator",
        "exceptions",
    ],
)
def test_the_modules_of_the_old_package_exist(module):
    assert importlib.import_module(f"muster.communication.{module}").__all__


def test_the_old_package_exported_these():
    from muster import communication

    for name in [
        "dist",
        "AbsDriver",
        "DriverType",
        "ZmqDriver",
        "Message",
        "NotificationSessionStage",
        "SessionMessage",
        "SessionType",
        "TaskSessionStage",
        "Proxy",
        "RegisterTable",
    ]:
        assert name in communication.__all__
        assert getattr(communication, name)


def test_master_and_worker_say_hello(group, tmp_path):
    """The first program of the documentation."""
    program = """
        import multiprocessing as mp
        import sys
        from maro.communication import Proxy, SessionMessage, SessionType

        def worker(group_name):
            proxy = Proxy(group_name=group_name, component_type="worker", expected_peers={"master": 1})
            for msg in proxy.receive(is_continuous=False):
                print(f"worker receives {msg.payload} from {msg.source}", flush=True)
                proxy.reply(received_message=msg, tag="recv", payload="yes")

        def master(group_name):
            proxy = Proxy(group_name=group_name, component_type="master", expected_peers={"worker": 1})
            for peer in proxy.peers_name["worker"]:
                message = SessionMessage(tag="send", source=proxy.name, destination=peer, payload="hello",
                                         session_type=SessionType.TASK)
                for reply in proxy.send(message):
                    print(f"master receives {reply.payload} with {reply.tag}")

        if __name__ == "__main__":
            mp.set_start_method("spawn")
            process = mp.Process(target=worker, args=(sys.argv[1],))
            process.start()
            master(sys.argv[1])
            process.join()
    """
    lines = run_file(tmp_path, program, group)
    assert lines[0].startswith("worker receives hello from master_")
    assert lines[1] == "master receives yes with recv"


@pytest.mark.parametrize("immediate", ["", "immediate"])
def test_work_is_scattered_over_two_kinds_of_workers(group, immediate):
    program = """
        import multiprocessing as mp
        import sys
        import numpy as np
        from maro.communication import Proxy, SessionType

        def summation_worker(group_name):
            proxy = Proxy(group_name=group_name, component_type="sum_worker", expected_peers={"master": 1})
            for msg in proxy.receive(is_continuous=False):
                if msg.tag == "job":
                    proxy.reply(message=msg, tag="sum", body=sum(msg.body))

        def multiplication_worker(group_name):
            proxy = Proxy(group_name=group_name, component_type="multiply_worker", expected_peers=[("master", 1)])
            for msg in proxy.receive(is_continuous=False):
                if msg.tag == "job":
                    proxy.reply(message=msg, tag="multiply", body=int(np.prod(msg.body)))

        def master(group_name, is_immediate):
            proxy = Proxy(group_name=group_name, component_type="master",
                          expected_peers={"sum_worker": 2, "multiply_worker": 1})
            numbers = np.arange(1, 11)
            bodies = [(peer, numbers[i * 5:(i + 1) * 5]) for i, peer in enumerate(proxy.peers["sum_worker"])]
            bodies += [(peer, numbers[:5]) for peer in proxy.peers["multiply_worker"]]
            if is_immediate:
                ids = proxy.iscatter(tag="job", session_type=SessionType.TASK, destination_body_list=bodies)
                replied = proxy.receive_by_id(ids)
            else:
                replied = proxy.scatter(tag="job", session_type=SessionType.TASK, destination_body_list=bodies)
            print("sum", sum(msg.body for msg in replied if msg.tag == "sum"))
            print("multiply", [msg.body for msg in replied if msg.tag == "multiply"])

        if __name__ == "__main__":
            group_name = sys.argv[1]
            context = mp.get_context("fork")
            targets = [summation_worker, summation_worker, multiplication_worker]
            workers = [context.Process(target=target, args=(group_name,)) for target in targets]
            for worker in workers:
                worker.start()
            master(group_name, bool(sys.argv[2]))
            for worker in workers:
                worker.join()
    """
    assert run(program, group, immediate) == ["sum 55", "multiply [120]"]


def test_a_counter_is_raised_by_a_broadcast_before_anybody_receives(group):
    program = """
        import sys, threading
        from maro.communication import Proxy, SessionType

        def worker(group_name, joined):
            proxy = Proxy(group_name=group_name, component_type="worker", expected_peers={"master": 1}, log_enable=False)
            joined.wait()
            counter = 0
            for msg in proxy.receive(is_continuous=True, timeout=20000):
                if msg.tag == "INC":
                    counter += 1
                    proxy.reply(msg, tag="done", body=counter)
                    return

        sent = threading.Event()
        threads = [threading.Thread(target=worker, args=(sys.argv[1], sent)) for _ in range(3)]
        for thread in threads:
            thread.start()
        proxy = Proxy(group_name=sys.argv[1], component_type="master", expected_peers={"worker": 3})
        workers = proxy.peers["worker"]
        ids = proxy.ibroadcast(component_type="worker", tag="INC", session_type=SessionType.NOTIFICATION)
        sent.set()
        replies = proxy.receive_by_id(ids)
        print(sorted(msg.source for msg in replies) == sorted(workers), [msg.body for msg in replies])
        for thread in threads:
            thread.join()
        proxy.close()
    """
    assert run(program, group) == ["True [1, 1, 1]"]


def test_an_actor_proxy_cuts_off_stragglers(group):
    """The canonical use: scatter, a register table at 60 %, a broadcast at the end."""
    program = """
        import sys, threading
        from enum import Enum
        from maro.communication import Message, Proxy, RegisterTable, SessionMessage, SessionType

        class MessageTag(Enum):
            ROLLOUT = "rollout"
            FINISHED = "finished"
            EXIT = "exit"

        def actor(group_name, straggles):
            proxy = Proxy(group_name, "actor", {"learner": 1}, driver_type=None)
            for msg in proxy.receive():
                if msg.tag == MessageTag.EXIT:
                    return
                if msg.tag == MessageTag.ROLLOUT and not straggles:
                    proxy.reply(msg, tag=MessageTag.FINISHED, body=msg.body["weights"] + 1)

        actors = [threading.Thread(target=actor, args=(sys.argv[1], number == 4)) for number in range(5)]
        for thread in actors:
            thread.start()
        proxy = Proxy(sys.argv[1], "learner", {"actor": 5})
        table = RegisterTable(proxy.peers)
        table.register_event_handler("actor:finished:60%", lambda messages: [m.payload for m in messages])
        bodies = [(actor, {"weights": 41}) for actor in proxy.peers["actor"]]
        proxy.iscatter(MessageTag.ROLLOUT, SessionType.TASK, bodies)
        for msg in proxy.receive():
            result = table.push(msg)
            if result is not None:
                print(result)
                break
        proxy.ibroadcast("actor", MessageTag.EXIT, SessionType.NOTIFICATION)
        for thread in actors:
            thread.join()
        proxy.close()
    """
    assert run(program, group) == ["[[42, 42, 42]]"]


def test_a_decorated_worker_handles_messages(group):
    program = """
        import sys, threading
        from maro.communication import Proxy, SessionMessage, dist

        def on_sum(that, proxy, message):
            proxy.reply(message, tag="sum_result", body=that.sum_two_numbers(*message.body))

        def on_multiply(that, proxy, messages):
            for message in messages:
                proxy.reply(message, tag="multiply_result", body=that.multiply_two_numbers(*message.body))

        def on_exit(that, proxy, message):
            proxy.close()

        def worker(group_name):
            proxy = Proxy(group_name=group_name, component_type="worker", expected_peers=[("master", 1)],
                          max_retries=10, retry_interval_base_value=0.1)
            handlers = {"master:sum:1": on_sum, "master:multiply:1": on_multiply, "master:exit:1": on_exit}

            @dist(proxy, handlers)
            class SimpleWorker:
                def sum_two_numbers(self, a, b):
                    return a + b

                def multiply_two_numbers(self, a, b):
                    return a * b

            SimpleWorker().launch()

        thread = threading.Thread(target=worker, args=(sys.argv[1],))
        thread.start()
        proxy = Proxy(group_name=sys.argv[1], component_type="master", expected_peers=[("worker", 1)])
        peer = proxy.peers["worker"][0]
        for tag in ("sum", "multiply"):
            print(proxy.send(SessionMessage(tag=tag, source=proxy.name, destination=peer, body=(3, 4)))[0].body)
        proxy.isend(SessionMessage(tag="exit", source=proxy.name, destination=peer))
        thread.join()
        proxy.close()
    """
    assert run(program, group) == ["7", "12"]


def test_a_component_comes_back_under_the_name_from_its_environment(group, tmp_path):
    """The rejoin test of the predecessor: four replies to a scatter over three actors."""
    program = """
        import multiprocessing as mp
        import os
        import sys
        import time
        from maro.communication import Proxy, SessionMessage, SessionType

        PARAMETERS = {
            "enable_rejoin": True,
            "peers_catch_lifetime": 1,
            "enable_message_cache_for_rejoin": True,
            "timeout_for_minimal_peer_number": 40,
            "minimal_peers": {"actor": 1},
        }

        def actor(group_name, name):
            os.environ["COMPONENT_NAME"] = name
            proxy = Proxy(group_name=group_name, component_type="actor", expected_peers={"master": 1},
                          **{**PARAMETERS, "minimal_peers": {"master": 1}})
            for msg in proxy.receive(is_continuous=True):
                if msg.tag == "cont":
                    proxy.reply(message=msg, tag="recv", body="successful receive!")
                elif msg.tag == "stop":
                    proxy.reply(message=msg, tag="recv", body=f"{proxy.name} exited!")
                    sys.exit(0)

        def start(group_name, name):
            process = mp.get_context("fork").Process(target=actor, args=(group_name, name), daemon=True)
            process.start()
            return process

        def wait_until(condition):
            deadline = time.time() + 40
            while not condition():
                assert time.time() < deadline
                time.sleep(0.01)

        if __name__ == "__main__":
            group_name = sys.argv[1]
            processes = [start(group_name, f"actor_{i}") for i in range(3)]
            proxy = Proxy(group_name=group_name, component_type="master", expected_peers={"actor": 3}, **PARAMETERS)
            peers = list(proxy.peers["actor"])
            proxy.send(SessionMessage(tag="stop", source=proxy.name, destination=peers[1]))
            wait_until(lambda: len(proxy.peers["actor"]) == 2)
            print(proxy.isend(SessionMessage(tag="cont", source=proxy.name, destination=peers[1])))
            processes.append(start(group_name, peers[1]))
            wait_until(lambda: len(proxy.peers["actor"]) == 3)
            replies = proxy.scatter("cont", SessionType.TASK, [(peer, "continue") for peer in peers])
            print(len(replies), {reply.body for reply in replies})
            proxy.scatter("stop", SessionType.NOTIFICATION, [(peer, None) for peer in peers])
    """
    assert run_file(tmp_path, program, group) == ["None", "4 {'successful receive!'}"]
