#!/usr/bin/env python3
"""Starting and watching jobs in process mode; prints rows as JSON objects.

- component starts per second of /bin/true, in one job and in many, against xargs -P and the budget;
- from `job start` to the first instruction of the component, against plain fork and exec;
- memory and processor time of the agent with many queued jobs and many running components.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MUSTER = str(
    Path(os.environ.get("MUSTER_BUILD_DIR", Path(__file__).resolve().parents[2] / "build/release"))
    / "bin"
    / "muster"
)
BUDGET = 500  # starts per second on two cores


def muster(*arguments: str) -> str:
    done = subprocess.run([MUSTER, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def row(case: str, ours: list[float], peer: list[float], peer_name: str, unit: str, better: str):
    mine, theirs = statistics.median(ours), statistics.median(peer)
    ratio = mine / theirs if better == "higher" else theirs / mine
    print(
        json.dumps(
            {
                "bench": "jobs",
                "case": case,
                "size": 0,
                "ours": mine,
                "ours_spread": [min(ours), max(ours)],
                "peer": theirs,
                "peer_spread": [min(peer), max(peer)],
                "peer_name": peer_name,
                "unit": unit,
                "better": better,
                "ratio": ratio,
                **({"budget": 1} if peer_name == "budget" else {}),
            }
        ),
        flush=True,
    )


def describe(job: str) -> dict:
    return json.loads(muster("process", "job", "describe", job, "-o", "json"))


def write_job(folder: Path, name: str, num: int, command: str, names: list[str] | None = None):
    file = folder / f"{name}.yml"
    schedule = f"job_names: {json.dumps(names)}\n" if names else ""
    file.write_text(
        f"mode: process\nname: {name}\n{schedule}"
        f"components: {{main: {{num: {num}, command: {json.dumps(command)}}}}}\n"
    )
    return str(file)


def await_jobs(names: list[str]) -> list[dict]:
    """The jobs when all are over."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        jobs = {
            job["name"]: job for job in json.loads(muster("process", "job", "list", "-o", "json"))
        }
        found = [jobs[name] for name in names if name in jobs]
        if len(found) == len(names) and all(job["ended_ms"] for job in found):
            return found
        time.sleep(0.05)
    raise TimeoutError(f"{names[0]} ... do not end")


def starts(folder: Path, count: int, repeats: int) -> None:
    one, many, xargs = [], [], []
    for repeat in range(repeats):
        name = f"starts{repeat}"
        muster("process", "job", "start", write_job(folder, name, count, "/bin/true"))
        job = await_jobs([name])[0]
        one.append(count / (job["ended_ms"] - job["started_ms"]) * 1e3)

        names = [f"many{repeat}x{i}" for i in range(count)]
        file = write_job(folder, f"many{repeat}", 1, "/bin/true", names)
        muster("process", "schedule", "start", file)
        jobs = await_jobs(names)
        first = min(job["started_ms"] for job in jobs)
        many.append(count / (max(job["ended_ms"] for job in jobs) - first) * 1e3)

        began = time.monotonic()
        lines = "x\n" * count
        subprocess.run(["xargs", "-P2", "-I{}", "/bin/true"], input=lines, text=True, check=True)
        xargs.append(count / (time.monotonic() - began))
    row("starts of /bin/true, one job", one, [BUDGET], "budget", "1/s", "higher")
    row("starts of /bin/true, one job", one, xargs, "xargs", "1/s", "higher")
    row("starts of /bin/true, many jobs", many, xargs, "xargs", "1/s", "higher")


def latency(folder: Path, repeats: int) -> None:
    ours, plain = [], []
    for repeat in range(repeats):
        stamp = folder / f"stamp{repeat}"
        command = f"sh -c 'date +%s%N > {stamp}'"
        file = write_job(folder, f"latency{repeat}", 1, command)
        began = time.time_ns()
        muster("process", "job", "start", file)
        await_jobs([f"latency{repeat}"])
        ours.append((int(stamp.read_text()) - began) / 1e6)
        stamp.unlink()
        began = time.time_ns()
        subprocess.run(["sh", "-c", f"date +%s%N > {stamp}"], check=True)
        plain.append((int(stamp.read_text()) - began) / 1e6)
    row("job start to first instruction", ours, plain, "exec", "ms", "lower")


def ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def await_rest(pid: int) -> None:
    """A state is stored before it is acted on: until then the agent is busy."""
    deadline = time.monotonic() + 30
    before = -1
    while before != (now := ticks(pid)) and time.monotonic() < deadline:
        before = now
        time.sleep(1)


def agent_load(seconds: float) -> tuple[float, float]:
    """Resident MiB, and processor time as a share of one core, once it has done what it had to."""
    pid = json.loads(muster("process", "status", "-o", "json"))["pid"]
    await_rest(pid)
    before = ticks(pid)
    time.sleep(seconds)
    used = (ticks(pid) - before) / os.sysconf("SC_CLK_TCK") / seconds
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line)
    return resident / 1024, used * 100


def load(folder: Path, queued: int, running: int) -> None:
    idle = agent_load(1)
    muster("process", "setting", "set", "parallel_level", "1")
    muster("process", "job", "start", write_job(folder, "busy", running, "sleep 1000"))
    while sum(c["phase"] == "running" for c in describe("busy")["components"]) < running:
        time.sleep(0.1)
    busy = agent_load(2)
    row(f"agent memory, {running} components", [busy[0]], [idle[0]], "idle", "MiB", "lower")
    row(
        f"agent cpu, {running} components", [busy[1] + 0.01], [idle[1] + 0.01], "idle", "%", "lower"
    )
    names = [f"queued{i}" for i in range(queued)]
    muster("process", "schedule", "start", write_job(folder, "queue", 1, "/bin/true", names))
    full = agent_load(2)
    row(f"agent memory, {queued} jobs queued", [full[0]], [idle[0]], "idle", "MiB", "lower")
    row(
        f"agent cpu, {queued} jobs queued", [full[1] + 0.01], [idle[1] + 0.01], "idle", "%", "lower"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as home:
        os.environ["MUSTER_HOME"] = home
        folder = Path(home)
        (folder / "settings.yml").write_text("parallel_level: 100\n")
        muster("process", "create", str(folder / "settings.yml"))
        try:
            latency(folder, 5 if quick else 20)
            starts(folder, 300 if quick else 500, 2 if quick else 5)
            load(folder, 10_000, 200 if quick else 500)
        finally:
            muster("process", "delete")
    return 0


if __name__ == "__main__":
    sys.exit(main())
