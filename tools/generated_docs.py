#!/usr/bin/env python3
"""Checks that what the documentation shows of the `muster` program is what it prints.

Some files of docs/reference are its output as a whole. In others, what stands between
`<!-- output: muster reference collectives -->` and `<!-- end of output -->` is the output of that
command. With --fix, both are filled in. Needs a build: build/release/bin/muster, or --muster FILE.
Pages about the Python package are printed by it; a build without it leaves them alone.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from source_tree import ROOT, tracked_files

MUSTER = ROOT / "build/release/bin/muster"
WHOLE = {
    "docs/reference/cli.md": "reference cli",
    "docs/reference/job.md": "reference job",
    "docs/reference/job.schema.json": "reference schema",
}
BY_PYTHON = {"docs/reference/tensor.md": "muster.tensor._reference"}
OUTPUT = re.compile(
    r"^<!-- output: muster ([\w -]+) -->\n(.*?)^<!-- end of output -->$", re.DOTALL | re.MULTILINE
)


def printed(muster: Path, arguments: str) -> str:
    """What the command prints when no environment variable changes its mind."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
    command = [str(muster), *arguments.split()]
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=30, check=True
    )
    return result.stdout


def printed_by_python(muster: Path, module: str) -> str | None:
    """What a module of the package prints that was built with the program; None without one."""
    package = muster.resolve().parent.parent / "python"
    python = ROOT / ".venv/bin/python"
    # A package that was built with a sanitizer loads only into a program that was as well.
    if muster.resolve() != MUSTER.resolve() or not python.exists():
        return None
    if not any(package.glob("muster/_core*.so")):
        return None
    environment = {**os.environ, "PYTHONPATH": str(package)}
    result = subprocess.run(
        [str(python), "-m", module],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return result.stdout


def filled(text: str, muster: Path) -> str:
    """The text with every block replaced by what is printed now."""

    def fill(block: re.Match[str]) -> str:
        head = f"<!-- output: muster {block[1]} -->\n"
        return f"{head}{printed(muster, block[1])}<!-- end of output -->"

    return OUTPUT.sub(fill, text)


def current(page: Path, text: str, muster: Path) -> str:
    """What the page should say."""
    if str(page) in WHOLE:
        return printed(muster, WHOLE[str(page)])
    if str(page) in BY_PYTHON:
        return printed_by_python(muster, BY_PYTHON[str(page)]) or text
    return filled(text, muster) if page.suffix == ".md" else text


def check(muster: Path, root: Path = ROOT, fix: bool = False) -> list[str]:
    """The complaints about pages that are out of date; mends them instead with `fix`."""
    complaints = []
    for page in tracked_files(root):
        if page.suffix != ".md" and str(page) not in WHOLE:
            continue
        text = (root / page).read_text(encoding="utf-8")
        wanted = current(page, text, muster)
        if wanted == text:
            continue
        if fix:
            (root / page).write_text(wanted, encoding="utf-8")
        else:
            complaints.append(f"{page}:1: shows old output; tools/generated_docs.py --fix mends it")
    return complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="fill in what is printed now")
    parser.add_argument("--muster", type=Path, default=MUSTER, help="the program to ask")
    arguments = parser.parse_args()
    complaints = check(arguments.muster, fix=arguments.fix)
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
