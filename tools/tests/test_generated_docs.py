from pathlib import Path

import pytest
from generated_docs import filled

PAGE = "# Title\n<!-- output: muster words -o text -->\nold\n<!-- end of output -->\nThe end.\n"


@pytest.fixture
def muster(tmp_path: Path) -> Path:
    program = tmp_path / "muster"
    program.write_text('#!/bin/sh\necho "called with $*, $MUSTER_COLLECTIVES"\n')
    program.chmod(0o755)
    return program


def test_a_block_becomes_what_the_program_prints(muster, monkeypatch):
    monkeypatch.setenv("MUSTER_COLLECTIVES", "something else")
    text = filled(PAGE, muster)
    assert "-->\ncalled with words -o text, \n<!-- end" in text
    assert "old" not in text


def test_filling_again_changes_nothing(muster):
    text = filled(PAGE, muster)
    assert filled(text, muster) == text


def test_pages_without_blocks_stay_as_they_are(muster):
    assert filled("# Title\n", muster) == "# Title\n"
