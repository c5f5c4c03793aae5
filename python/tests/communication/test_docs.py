"""The code in the guide is the code of the examples."""

import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
INCLUDE = re.compile(r"<!-- region: (\S+) (\S+) -->\n```python\n(.*?)```", re.DOTALL)
PAGES = sorted((ROOT / "docs" / "guide").glob("*.md"))


def region(path, name):
    text = (ROOT / path).read_text()
    match = re.search(rf"^( *)# region {name}\n(.*?)^ *# endregion", text, re.DOTALL | re.MULTILINE)
    assert match, f"{path} has no region {name}"
    return textwrap.dedent(match[2]).strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_in_the_guide_is_that_of_the_examples(page):
    for path, name, shown in INCLUDE.findall(page.read_text()):
        assert shown.strip() == region(path, name), (
            f"{page.name} differs from {path}, region {name}"
        )


def test_the_guide_includes_examples():
    assert sum(len(INCLUDE.findall(page.read_text())) for page in PAGES) >= 5
