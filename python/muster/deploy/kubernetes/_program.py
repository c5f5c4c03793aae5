"""Finds the ``muster`` program and becomes it."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import NoReturn

import muster


def candidates() -> list[Path]:
    """Where the program may be, the one that belongs to this package first."""
    package = Path(muster.__file__).absolute().parent
    places = [
        package.parents[1] / "bin" / "muster",  # a build tree: python/muster and bin/muster
        Path(sysconfig.get_path("scripts")) / "muster",
        Path(sys.executable).parent / "muster",
    ]
    on_path = shutil.which("muster")
    return [*places, Path(on_path)] if on_path else places


def find_program() -> Path:
    for place in candidates():
        if place.is_file() and os.access(place, os.X_OK):
            return place
    looked = ", ".join(str(place) for place in candidates())
    raise SystemExit(
        f"muster: the program 'muster' is missing (looked at {looked}, and on PATH): "
        "install the package again, or put the program on PATH"
    )


def become(role: str) -> NoReturn:
    program = str(find_program())
    os.execv(program, [program, role, *sys.argv[1:]])
