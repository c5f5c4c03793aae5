"""The flags that matter to a parser, taken from the compile commands of the `lint` preset."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

LINT_BUILD = Path("build") / "lint"


def configure(root: Path) -> None:
    """Configures build/lint: every optional part on, no precompiled headers, nothing is built."""
    subprocess.run(["cmake", "--preset", "lint"], cwd=root, check=True, stdout=subprocess.DEVNULL)


def parsing_flags(command: list[str]) -> list[str]:
    """Those that decide how a source reads, not how it is optimised or what is warned about."""
    flags = []
    words = iter(command)
    for word in words:
        if word in {"-isystem", "-I"}:
            flags += [word, next(words)]
        elif word.startswith(("-I", "-D", "-isystem", "-std")):
            flags.append(word)
    return flags


class CompileFlags:
    """Maps a file to the include paths and definitions that its folder is compiled with."""

    def __init__(self, root: Path) -> None:
        self._root = root
        commands = json.loads((root / LINT_BUILD / "compile_commands.json").read_text())
        self.commands = {
            Path(c["file"]): shlex.split(c["command"])
            for c in commands
            if Path(c["file"]).is_relative_to(root)
        }
        self._by_folder: dict[Path, list[str]] = {}
        for file in sorted(self.commands):
            self._by_folder.setdefault(file.parent, parsing_flags(self.commands[file]))

    def of(self, file: Path) -> list[str]:
        """The flags of a source in the same folder, or in the nearest folder above."""
        folder = (self._root / file).parent
        while folder != self._root:
            if folder in self._by_folder:
                return self._by_folder[folder]
            folder = folder.parent
        return ["-I", str(self._root / "src"), "-I", str(self._root / LINT_BUILD / "generated")]
