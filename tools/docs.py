#!/usr/bin/env python3
"""Checks that code in the documentation is code that runs, and that links lead somewhere.

A line `<!-- include: examples/cpp/scatter.cpp#worker -->` before a code block says that the block
is the part of that file between `// region worker` and `// endregion` (`#` in Python), without its
indentation; without `#worker`, the whole file. With --fix, the blocks are filled in.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from source_tree import ROOT, tracked_files

INCLUDE = re.compile(r"^<!-- include: ([^\s#]+)(?:#([\w-]+))? -->$")
REGION_MARK = re.compile(r"^\s*(?://|#) (?:region [\w-]+|endregion)$")
FENCE = re.compile(r"^```(\w*)$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
LANGUAGES = {
    ".cpp": "cpp",
    ".h": "cpp",
    ".py": "python",
    ".yml": "yaml",
    ".cmake": "cmake",
    "": "bash",
}


@dataclass
class Block:
    """A code block that has to be what a source file holds."""

    line: int  # of the include mark, from 1
    source: str
    region: str | None
    begin: int  # of the code in the list of lines
    end: int  # of the line with the closing fence
    language: str


class DocsError(Exception):
    """What is wrong with an include."""


def region_of(text: str, name: str) -> str:
    """What stands between the marks of a region, without the marks of others inside."""
    lines = text.splitlines()
    begin = re.compile(rf"^\s*(?://|#) region {re.escape(name)}$")
    starts = [number for number, line in enumerate(lines) if begin.match(line)]
    if len(starts) != 1:
        raise DocsError(f"has {len(starts)} regions named '{name}'")
    inside: list[str] = []
    depth = 1
    for line in lines[starts[0] + 1 :]:
        if REGION_MARK.match(line):
            depth += -1 if line.strip().endswith("endregion") else 1
            if depth == 0:
                return textwrap.dedent("\n".join(inside)).strip("\n")
        else:
            inside.append(line)
    raise DocsError(f"region '{name}' has no end")


def source_code(root: Path, source: str, region: str | None) -> str:
    file = root / source
    if not file.is_file():
        raise DocsError(f"there is no {source}")
    text = file.read_text(encoding="utf-8")
    if region:
        return region_of(text, region)
    return "\n".join(line for line in text.splitlines() if not REGION_MARK.match(line))


def find_block(lines: list[str], mark: int, source: str, region: str | None) -> Block:
    fence = FENCE.match(lines[mark + 1]) if mark + 1 < len(lines) else None
    if not fence:
        raise DocsError("no code block follows")
    begin = mark + 2
    for end in range(begin, len(lines)):
        if lines[end] == "```":
            return Block(mark + 1, source, region, begin, end, fence[1])
    raise DocsError("the code block has no end")


def includes_of(root: Path, file: Path, fix: bool) -> list[str]:
    """Checks the included blocks of a file, or fills them in."""
    lines = (root / file).read_text(encoding="utf-8").splitlines()
    errors = []
    for mark in reversed(range(len(lines))):
        match = INCLUDE.match(lines[mark])
        if not match:
            continue
        source, region = match[1], match[2]
        try:
            block = find_block(lines, mark, source, region)
            code = source_code(root, source, region).splitlines()
        except DocsError as error:
            errors.append(f"{file}:{mark + 1}: include {source}: {error}")
            continue
        language = LANGUAGES.get(Path(source).suffix, block.language)
        if block.language != language:
            errors.append(f"{file}:{mark + 2}: the block should be marked as {language}")
        if lines[block.begin : block.end] == code:
            continue
        if fix:
            lines[block.begin : block.end] = code
        else:
            place = source + (f"#{region}" if region else "")
            errors.append(
                f"{file}:{mark + 1}: not what {place} holds; tools/check --fix docs repairs it"
            )
    if fix:
        (root / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return errors[::-1]


def link_errors(root: Path, file: Path) -> list[str]:
    errors = []
    in_code = False
    for number, line in enumerate((root / file).read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```"):
            in_code = not in_code
        if in_code or line.startswith("    "):
            continue
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            path = target.partition("#")[0]
            if "://" in path or path.startswith("mailto:") or not path:
                continue
            if not (root / file.parent / path).exists():
                errors.append(f"{file}:{number}: the link leads nowhere: {target}")
    return errors


def check(root: Path, files: list[Path], fix: bool = False) -> list[str]:
    errors = []
    for file in files:
        errors += includes_of(root, file, fix)
        errors += link_errors(root, file)
    return errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="fill in the code blocks")
    arguments = parser.parse_args()
    errors = check(ROOT, tracked_files(ROOT, "*.md"), arguments.fix)
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
