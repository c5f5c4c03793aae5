"""What the checks know about the tree: tracked files, modules, who includes whom."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def tracked_files(root: Path, *patterns: str) -> list[Path]:
    """Files that git knows or would add, relative to `root`; all of them without patterns."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    output = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return sorted({Path(line) for line in output.splitlines() if (root / line).is_file()})


def cpp_files(root: Path) -> list[Path]:
    return tracked_files(root, "*.h", "*.cpp")


@cache
def includes(path: Path) -> tuple[tuple[int, str], ...]:
    """The includes of a file, with their line numbers."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [(number, INCLUDE.match(line)) for number, line in enumerate(lines, start=1)]
    return tuple((number, match[1]) for number, match in found if match)


def include_closure(path: Path, search: list[Path]) -> set[Path]:
    """The file and every project file that it includes, directly or not."""
    closure: set[Path] = set()
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file in closure:
            continue
        closure.add(file)
        for _, name in includes(file):
            folders = [file.parent, *search]
            target = next((f / name for f in folders if (f / name).is_file()), None)
            if target:
                waiting.append(target.resolve())
    return closure
