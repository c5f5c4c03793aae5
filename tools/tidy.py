#!/usr/bin/env python3
"""Runs clang-tidy (the short list in .clang-tidy) on every source that the build knows.

Sources that passed before, with the same contents, headers and flags, are not looked at again. With
--minutes, those changed last come first and the rest is left for another time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compile_flags import LINT_BUILD, CompileFlags, configure, parsing_flags
from source_tree import ROOT, cpp_files, include_closure
from verdict_cache import VerdictCache, cache_folder, digest

TIDY = "clang-tidy-19"


def complaint_about(source: Path) -> str:
    """What clang-tidy says about one source; empty when it is content."""
    command = [TIDY, "--quiet", "-p", str(ROOT / LINT_BUILD), str(source)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if result.returncode == 0:
        return ""
    return result.stdout.replace(f"{ROOT}/", "") or result.stderr


def changed_last_first(sources: list[Path]) -> list[Path]:
    """By the commit that touched them last; what is not committed yet comes before all others."""
    log = ["git", "log", "--format=", "--name-only", "--no-renames"]
    names = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    age: dict[Path, int] = {}
    for name in names.split("\n"):
        age.setdefault(ROOT / name, len(age))
    return sorted(sources, key=lambda source: age.get(source, -1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="parallel runs")
    parser.add_argument("--minutes", type=float, help="begin with no source after this time")
    parser.add_argument("files", nargs="*", type=Path, help="only these sources (default: all)")
    arguments = parser.parse_args()

    configure(ROOT)
    commands = CompileFlags(ROOT).commands
    wanted = {f.resolve() for f in arguments.files} or set(commands)
    ours = {ROOT / file for file in cpp_files(ROOT)}
    sources = sorted(s for s in commands if s in wanted and s in ours)

    cache = VerdictCache(cache_folder() / "tidy.passed")
    search = [ROOT / "src", ROOT]
    keys = {
        s: digest(
            {*include_closure(s, search), ROOT / ".clang-tidy"}, TIDY, *parsing_flags(commands[s])
        )
        for s in sources
    }
    todo = changed_last_first([s for s in sources if not cache.passed(keys[s])])
    end = time.monotonic() + 60 * arguments.minutes if arguments.minutes else float("inf")

    def look(source: Path) -> str | None:
        return complaint_about(source) if time.monotonic() < end else None

    failed = 0
    left = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for source, complaint in zip(todo, pool.map(look, todo)):
            if complaint is None:
                left += 1
            elif complaint:
                failed += 1
                print(complaint, end="", flush=True)
            else:
                cache.remember([keys[source]])
    print(f"{len(sources)} sources, {len(todo) - left} read, {left} left, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
