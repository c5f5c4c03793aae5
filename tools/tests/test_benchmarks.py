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
    # One call is enough for a microsecond, so each system is asked twice before its turns, to warm up.
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
