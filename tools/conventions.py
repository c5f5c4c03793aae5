#!/usr/bin/env python3
"""Checks the conventions that no other tool knows.

- no file or folder is named after nothing in particular (utils, common, helpers, manager, misc);
- headers have `#pragma once` (but for -inl.h, which Highway reads once per target);
- a test includes the header it tests first;
- no tracked file names a package index, a mirror, or a folder of somebody's machine.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from source_tree import ROOT, includes, tracked_files

EMPTY_NAMES = re.compile(r"(?:^|_)(utils?|common|helpers?|managers?|misc)(?:_|$)")
SOURCE_SUFFIXES = {".h", ".cpp", ".py", ".cmake", ".sh", ""}
MACHINE = [
    (re.compile(r"(?<![\w.~-])/(?:work|root|home/\w+)/"), "a folder of one machine"),
    (re.compile(r"--(?:extra-)?index[-]url|--find[-]links|PIP_\w*INDEX"), "a package index"),
    (re.compile(r"\bdeb\s+https?:"), "a package mirror"),
]


def name_errors(file: Path) -> list[str]:
    if file.suffix not in SOURCE_SUFFIXES:
        return []
    stems = [*file.parent.parts, file.stem]
    bad = [match[1] for stem in stems if (match := EMPTY_NAMES.search(stem.lower()))]
    return [f"{file}:1: '{word}' says nothing about what is inside" for word in bad]


def header_errors(root: Path, file: Path) -> list[str]:
    if file.suffix != ".h" or file.stem.endswith("-inl"):
        return []
    if "#pragma once" in (root / file).read_text(encoding="utf-8"):
        return []
    return [f"{file}:1: a header needs #pragma once"]


def test_errors(root: Path, file: Path) -> list[str]:
    """The test's own header comes first, so that the test proves that the header stands alone."""
    header = file.with_name(file.name.replace("_test.cpp", ".h"))
    if not file.name.endswith("_test.cpp") or not (root / header).exists():
        return []
    first = next(iter(includes(root / file)), (1, ""))
    if str(header).endswith(f"/{first[1]}"):
        return []
    return [f"{file}:{first[0]}: the first include should be the header under test, {header.name}"]


def machine_errors(root: Path, file: Path) -> list[str]:
    try:
        lines = (root / file).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []
    return [
        f"{file}:{number}: names {what}: {line.strip()[:80]}"
        for number, line in enumerate(lines, start=1)
        for pattern, what in MACHINE
        if pattern.search(line)
    ]


def check(root: Path, files: list[Path]) -> list[str]:
    errors = []
    for file in files:
        errors += name_errors(file)
        errors += header_errors(root, file)
        errors += test_errors(root, file)
        errors += machine_errors(root, file)
    return errors


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    errors = check(ROOT, tracked_files(ROOT))
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
