"""The muster program from outside: completion in a real shell, the pages that it writes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MUSTER = ROOT / "build" / "release" / "bin" / "muster"


def completions(line: str, tmp_path: Path) -> list[str]:
    """What bash offers for the last word of a line."""
    words = " ".join(f"'{word}'" for word in line.split(" "))
    script = f"""
      source <({MUSTER} completion bash)
      COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
      _muster
      printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    if not (folder / "muster").exists():
        (folder / "muster").symlink_to(MUSTER)
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        timeout=30,
        env={"PATH": f"{folder}:/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_bash_completes_commands_options_and_values(tmp_path):
    assert completions("muster ver", tmp_path) == ["version"]
    assert completions("muster job ", tmp_path) == ["validate", "schema"]
    assert completions("muster version --out", tmp_path) == ["--output"]
    assert completions("muster version -o j", tmp_path) == ["json"]
    assert completions("muster job validate --output y", tmp_path) == ["yaml"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_good_for_their_shells(shell):
    script = subprocess.run([MUSTER, "completion", shell], capture_output=True, timeout=30).stdout
    subprocess.run([shell, "-n"], input=script, check=True, timeout=30)


def test_no_colours_without_a_terminal():
    done = subprocess.run([MUSTER, "doctor"], capture_output=True, text=True, timeout=60)
    assert "\033" not in done.stdout
