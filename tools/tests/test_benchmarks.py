import importlib.machinery
import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
NAMES = sorted(folder.parent.name for folder in BENCHMARKS.glob("*/CMakeLists.txt"))


def load(path):
    loader = importlib.machinery.SourceFileLoader(path.stem, str(path))
    spec = importlib.util.spec_from_loader(path.stem, loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_be_run_by_name(name):
    assert os.access(BENCHMARKS / name / "run", os.X_OK)


def test_rows_of_events_have_the_form_of_all_rows(tmp_path, capsys):
    cases = load(BENCHMARKS / "events" / "cases.py")
    report = load(BENCHMARKS / "report.py")
    names = {name for case in cases.CASES for name in (case[1], case[3])}
    runs = [
        {"run_name": name, "run_type": kind, "real_time": time}
        for name in names
        for kind, time in [("iteration", 300.0), ("iteration", 600.0), ("aggregate", 1.0)]
    ]
    file = tmp_path / "rows.json"
    made = report.Report("events", str(file))
    for row in cases.rows(cases.parse(json.dumps({"benchmarks": runs}))):
        made.add(row)
    made.finish()
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) == len(cases.CASES)
    assert set(rows[0]) == {*report.FIELDS, "ours_spread", "peer_spread", "budget"}
    assert rows[0]["ours_spread"] == [100, 200]
    assert rows[0]["ours"] == 150
    assert rows[0]["ratio"] == 1
    assert "push, 1,000 events, 100,000 waiting" in capsys.readouterr().out


def test_rows_of_collectives_say_how_many_ranks_and_how_far_apart_the_repetitions_were(tmp_path):
    run = load(BENCHMARKS / "collectives" / "run")
    report = load(BENCHMARKS / "report.py")

    class System:
        """Takes a microsecond more with each turn."""

        def __init__(self, name, first):
            self.name, self.ranks, self.microseconds = name, 4, first

        def measure(self, operation, size, repetitions, calls):
            self.microseconds += 1
            return [self.microseconds * 1e-6]

    file = tmp_path / "rows.json"
    made = report.Report("collectives", str(file))
    # One call is enough for a microsecond, so each is asked twice before its turns, to warm up.
    for row in run.compare([System("muster", 1), System("mpi", 11)], "allreduce", 8, 1e-6, 3):
        made.add(row)
    made.finish()
    (row,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert row["ranks"] == 4
    assert row["ours_spread"] == pytest.approx([4, 6])
    assert row["peer_spread"] == pytest.approx([14, 16])


def test_collectives_end_well_and_say_so_when_there_is_nothing_to_plot_with(
    monkeypatch, capsys, tmp_path
):
    run = load(BENCHMARKS / "collectives" / "run")
    monkeypatch.setattr(run, "start_systems", lambda *_: [])
    monkeypatch.setattr(
        sys, "argv", ["run", "--only", "nothing", "--plot", str(tmp_path / "plot.png")]
    )
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    assert run.main() == 0
    assert "There is no plot: import of matplotlib" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_collectives_are_plotted_beside_their_peers(tmp_path):
    run = load(BENCHMARKS / "collectives" / "run")
    rows = [
        {"case": operation, "size": size, "peer_name": peer, "ours": size + 1, "peer": size + 2}
        for operation, peers in [
            ("barrier", ["mpi"]),
            ("allgather", ["mpi", "gloo", run.BOUND]),
            ("broadcast", ["gloo"]),
        ]
        for peer in peers
        for size in ([0] if operation == "barrier" else [8, 1024])
    ]
    picture = tmp_path / "plot.png"
    assert run.save_picture(rows, 2, picture) == f"The plot is {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")


# A rank of a system: takes 10 + i seconds for repetition i if its number is i modulo two, else i.
RANK = """
import sys
folder, name, rank = sys.argv[1:]
with open(f"{folder}/{name}.{rank}.in") as commands:
    with open(f"{folder}/{name}.{rank}.out", "w", buffering=1) as answers:
        for line in commands:
            operation, *numbers = line.split()
            if operation == "quit":
                break
            if operation == "end":
                sys.exit(3)
            size, repetitions, calls = map(int, numbers)
            times = [10 * (i % 2 == int(rank)) + i for i in range(repetitions)]
            if operation == "short" and rank == "1":
                times.pop()
            if operation == "strange":
                times = ["what?"]
            if operation == "echo":
                times = [size, calls]
            absent = operation == "absent" and rank == "1"
            if operation != "silence":
                print("missing" if absent else " ".join(map(str, times)), file=answers)
"""


@pytest.fixture
def collectives():
    return load(BENCHMARKS / "collectives" / "run")


@pytest.fixture
def system(collectives, tmp_path):
    commands = [[sys.executable, "-c", RANK, str(tmp_path), "fake", str(rank)] for rank in range(2)]
    system = collectives.System("fake", 2, tmp_path, commands)
    yield system
    for process in system.processes:
        process.kill()
        process.wait()


def test_a_system_takes_as_long_as_its_slowest_rank_in_each_repetition(system):
    assert system.measure("allreduce", 8, 3, 100) == [10, 11, 12]
    assert system.measure("echo", 8, 2, 100) == [8, 100]
    system.stop()
    assert [process.returncode for process in system.processes] == [0, 0]


def test_a_system_has_no_operation_that_one_of_its_ranks_has_not(system):
    assert system.measure("absent", 8, 2, 1) is None
    assert system.measure("allreduce", 8, 2, 1) == [10, 11]
    system.stop()


@pytest.mark.parametrize("operation", ["short", "strange"])
def test_a_system_that_answers_something_else_is_said_to_have_failed(system, operation):
    with pytest.raises(SystemExit, match=f"fake {operation} of 8 bytes failed: "):
        system.measure(operation, 8, 2, 1)


def test_a_system_that_has_ended_or_says_nothing_is_given_up(collectives, system, monkeypatch):
    monkeypatch.setattr(collectives, "LONGEST_ANSWER", 0)
    with pytest.raises(SystemExit, match="fake: rank 0 does not answer"):
        system.measure("silence", 8, 1, 1)
    monkeypatch.setattr(collectives, "LONGEST_ANSWER", 50)
    with pytest.raises(SystemExit, match="fake has ended, with status 3"):
        system.measure("end", 8, 1, 1)


@pytest.mark.parametrize(
    ("operation", "size", "peer", "ranks", "at_best", "wanted"),
    [
        ("allreduce", 8, "mpi", 2, float("inf"), 1.25),
        ("barrier", 0, "mpi", 2, float("inf"), 1.25),
        ("broadcast", 8, "mpi", 2, float("inf"), 1),
        ("allreduce", 8, "mpi", 4, float("inf"), 1),
        ("allgather", 1 << 20, "mpi", 2, 1.2, 0.85 * 1.2),
        ("allgather", 1 << 20, "mpi", 2, 2, 1.25),
        ("allgather", 1 << 20, "one_copy", 2, 1.2, 0),
        ("broadcast", 256 << 10, "gloo", 2, float("inf"), 5),
        ("broadcast", 1 << 20, "gloo", 4, float("inf"), 2),
    ],
)
def test_what_is_wanted_of_collectives(collectives, operation, size, peer, ranks, at_best, wanted):
    assert collectives.budget(operation, size, peer, ranks, at_best) == pytest.approx(wanted)
