#!/usr/bin/env python3
"""Fails when a header does not compile alone, that is, when it forgets an include.

Headers that passed before, with the same contents and the same headers below them, are not
compiled again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compile_flags import CompileFlags, configure
from source_tree import ROOT, include_closure, tracked_files
from verdict_cache import VerdictCache, cache_folder, digest

COMPILER = "g++"
BASE_FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-x", "c++"]


def compile_alone(header: Path, flags: list[str], root: Path) -> str:
    """What the compiler says about the header on its own; empty when it is content."""
    source = f'#include "{root / header}"\n'
    command = [COMPILER, *BASE_FLAGS, *flags, "-"]
    result = subprocess.run(command, input=source, cwd=root, capture_output=True, text=True)
    if result.returncode == 0:
        return ""
    return result.stderr.replace(f"{root}/", "")


def check(root: Path, headers: list[Path], flags_of, cache: VerdictCache, jobs: int) -> list[str]:
    """The complaints about the headers that do not compile alone."""
    search = [root / "src", root]
    keys = {
        h: digest(include_closure(root / h, search), COMPILER, *BASE_FLAGS, *flags_of(h))
        for h in headers
    }
    todo = [h for h in headers if not cache.passed(keys[h])]
    with ThreadPoolExecutor(jobs) as pool:
        complaints = list(pool.map(lambda h: compile_alone(h, flags_of(h), root), todo))
    cache.remember(keys[h] for h, text in zip(todo, complaints) if not text)
    print(f"{len(headers)} headers, {len(todo)} compiled")
    return [text for text in complaints if text]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="parallel compilers")
    arguments = parser.parse_args()
    configure(ROOT)
    cache = VerdictCache(cache_folder() / "headers.passed")
    headers = tracked_files(ROOT, "*.h")
    complaints = check(ROOT, headers, CompileFlags(ROOT).of, cache, arguments.jobs)
    print("".join(complaints), end="")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
