import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def mypy(*arguments):
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=55).stdout


def test_the_package_passes_mypy_strictly():
    assert mypy() == ""


def test_types_of_the_package_are_seen_by_its_users(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from muster.communication import Message, Proxy\n"
        "def use(proxy: Proxy) -> None:\n"
        "    reveal_type(proxy.receive_once())\n"
        "    reveal_type(proxy.send(Message('tag', 'me', 'you')))\n"
        "    Message(1, 'me', 'you')\n"
    )
    report = mypy("--strict", str(program))
    assert 'Revealed type is "muster._core.SessionMessage | None"' in report
    assert 'Revealed type is "list[muster._core.SessionMessage]"' in report
    assert 'Argument 1 to "Message" has incompatible type "int"' in report
