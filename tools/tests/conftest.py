from pathlib import Path

import pytest


@pytest.fixture
def make_tree(tmp_path):
    """Writes files, given as {path: text}, under a fresh folder and returns it."""

    def make(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make
