"""Remembers which files a check has passed, so that a second run looks only at what changed.

The memory lies with the user's other caches and names no checkout: a fresh clone profits, too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from source_tree import ROOT


def digest(files: Iterable[Path], *extra: str) -> str:
    """One hash over the contents of some files and some strings (flags, tool versions)."""
    total = hashlib.sha256()
    for text in extra:
        total.update(text.replace(str(ROOT), "").encode() + b"\0")
    for file in sorted(files):
        name = str(file).removeprefix(str(ROOT))
        total.update(name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muster"


class VerdictCache:
    """A file with one digest per line: what once passed. Failures are never remembered."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = set(path.read_text().split()) if path.exists() else set()

    def passed(self, key: str) -> bool:
        return key in self._known

    def remember(self, keys: Iterable[str]) -> None:
        new = set(keys) - self._known
        if not new:
            return
        self._known |= new
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.writelines(f"{key}\n" for key in sorted(new))
