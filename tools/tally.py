#!/usr/bin/env python3
"""Adds up JUnit reports and ends with the line `N passed, N failed`.

A report that is missing counts as one failure: whoever should have written it broke down.
Skipped tests are named, since a test that silently never runs proves nothing.
"""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path


def verdict(case: ElementTree.Element) -> str:
    """passed, failed or skipped, for one test as pytest or ctest reports it."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    if skipped is not None:
        # ctest also writes this element when a test's program is missing.
        missing = case.get("status") == "notrun" and "SKIP" not in skipped.get("message", "")
        return "failed" if missing else "skipped"
    return "passed" if case.get("status", "run") == "run" else "failed"


def test_name(case: ElementTree.Element) -> str:
    """ctest repeats the name as the class and appends GoogleTest's parameter as a comment."""
    name, group = case.get("name", ""), case.get("classname", "")
    return (name if name == group else f"{group} {name}").split("  # GetParam")[0]


def tally(report: Path) -> tuple[Counter[str], list[str]]:
    """The verdicts of one report, and a line about each test that did not pass."""
    if not report.exists():
        return Counter(failed=1), [f"failed: {report.name} was not written"]
    totals: Counter[str] = Counter()
    lines = []
    for case in ElementTree.parse(report).iter("testcase"):
        result = verdict(case)
        totals[result] += 1
        if result != "passed":
            lines.append(f"{result}: {test_name(case)}")
    return totals, lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="+", type=Path, help="JUnit XML files")
    totals: Counter[str] = Counter()
    for report in parser.parse_args().reports:
        counted, lines = tally(report)
        totals += counted
        print("".join(f"{line}\n" for line in lines), end="")
    if totals["skipped"]:
        print(f"{totals['skipped']} skipped")
    print(f"{totals['passed']} passed, {totals['failed']} failed")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
