"""Hosts of a test's own: network namespaces joined by a switch, with ways to trouble the links."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from tests.support.processes import PARTY, Process, run


class Host:
    """One network namespace with one address."""

    def __init__(self, name: str, link: str, address: str) -> None:
        self.name = name
        self.link = link
        self.address = address
        self.processes: list[Process] = []

    def run(self, *command: str, check: bool = True) -> str:
        return run("ip", "netns", "exec", self.name, *command, check=check)

    def start(self, *command: str, secret: str | None = None) -> Process:
        env = {k: v for k, v in os.environ.items() if k != "MUSTER_SECRET"}
        if secret is not None:
            env["MUSTER_SECRET"] = secret
        process = Process(["ip", "netns", "exec", self.name, *command], env)
        self.processes.append(process)
        return process

    @contextlib.contextmanager
    def lossy(self, probability: float) -> Iterator[None]:
        """Loses that share of the packets that arrive."""
        rule = ["INPUT", "-i", self.link, "-m", "statistic", "--mode", "random"]
        rule += ["--probability", str(probability), "-j", "DROP"]
        with self._rule(rule):
            yield

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """Drops everything that arrives or leaves: nobody is told."""
        with (
            self._rule(["INPUT", "-i", self.link, "-j", "DROP"]),
            self._rule(["OUTPUT", "-o", self.link, "-j", "DROP"]),
        ):
            yield

    @contextlib.contextmanager
    def unplugged(self) -> Iterator[None]:
        self.run("ip", "link", "set", self.link, "down")
        try:
            yield
        finally:
            self.run("ip", "link", "set", self.link, "up")

    @contextlib.contextmanager
    def slow(self, bytes_per_second: int) -> Iterator[None]:
        """Sends no faster than this, with a short queue: in a long one the renewals of leases would
        wait behind megabytes, and be dropped when it is full."""
        rate = f"{bytes_per_second * 8}bit"
        self.run(
            *["tc", "qdisc", "add", "dev", self.link, "root", "tbf", "rate", rate],
            *["burst", "32kb", "latency", "50ms"],
        )
        try:
            yield
        finally:
            self.run("tc", "qdisc", "del", "dev", self.link, "root")

    @contextlib.contextmanager
    def _rule(self, rule: list[str]) -> Iterator[None]:
        self.run("iptables", "-w", "-I", *rule)
        try:
            yield
        finally:
            self.run("iptables", "-w", "-D", *rule)


class Network:
    """Hosts 10.213.0.1, .2, … on one switch. Everything is gone when it is closed."""

    def __init__(self, count: int) -> None:
        tag = secrets.token_hex(3)
        self._switch = f"ms{tag}s"
        self.secret = secrets.token_hex(16)
        self.hosts: list[Host] = []
        run("ip", "netns", "add", self._switch)
        run("ip", "-n", self._switch, "link", "add", "name", "switch", "type", "bridge")
        run("ip", "-n", self._switch, "link", "set", "switch", "up")
        for number in range(1, count + 1):
            self.hosts.append(self._plug(f"ms{tag}h{number}", number))

    def _plug(self, name: str, number: int) -> Host:
        host = Host(name, "eth0", f"10.213.0.{number}")
        run("ip", "netns", "add", name)
        port = f"port{number}"
        run(
            *["ip", "-n", name, "link", "add", "eth0", "type", "veth"],
            *["peer", "name", port, "netns", self._switch],
        )
        run("ip", "-n", self._switch, "link", "set", port, "master", "switch", "up")
        run("ip", "-n", name, "addr", "add", f"{host.address}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            run("ip", "-n", name, "link", "set", link, "up")
        return host

    def start_redis(self, host: Host, folder: Path) -> str:
        """A Redis server with a password on the host; returns its URL."""
        password = secrets.token_hex(8)
        process = host.start(
            *["redis-server", "--bind", host.address, "--port", "6379", "--save", ""],
            *["--requirepass", password, "--dir", str(folder), "--daemonize", "no"],
        )
        process.wait_for("Ready to accept connections", timeout=20)
        return f"redis://:{password}@{host.address}:6379"

    def party(self, host: Host, role: str, discovery: str, **settings: object) -> Process:
        """A member of the group on that host, with the network's secret."""
        secret = settings.pop("secret", self.secret)
        words = [f"{key.replace('__', '.')}={value}" for key, value in settings.items()]
        assert secret is None or isinstance(secret, str)
        return host.start(str(PARTY), role, f"discovery={discovery}", *words, secret=secret)

    def close(self) -> None:
        for host in self.hosts:
            for process in host.processes:
                process.kill()
        for name in [host.name for host in self.hosts] + [self._switch]:
            run("ip", "netns", "del", name, check=False)
