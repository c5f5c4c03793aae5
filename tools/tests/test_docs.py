from pathlib import Path

import pytest
from source_tree import ROOT, tracked_files

from docs import DocsError, check, region_of

SOURCE = """\
int before;
namespace x {
  // region answer
  int answer() {
    // region inner
    return 42;
    // endregion
  }
  // endregion
}
"""
ANSWER = "int answer() {\n  return 42;\n}"


def page(code: str, mark: str = "<!-- include: a.cpp#answer -->", language: str = "cpp") -> str:
    return f"# Title\n\n{mark}\n```{language}\n{code}\n```\nThe end.\n"


def errors_of(make_tree, text: str, fix: bool = False) -> tuple[list[str], str]:
    root = make_tree({"a.cpp": SOURCE, "guide.md": text})
    errors = check(root, [Path("guide.md")], fix)
    return errors, (root / "guide.md").read_text()


def test_a_region_comes_without_indentation_and_without_marks():
    assert region_of(SOURCE, "answer") == ANSWER
    assert region_of(SOURCE, "inner") == "return 42;"


@pytest.mark.parametrize("mark", ["// region a\n", "// region a\n// endregion\n" * 2, ""])
def test_a_region_has_one_beginning_and_an_end(mark):
    with pytest.raises(DocsError):
        region_of(mark, "a")


def test_a_block_that_is_what_the_source_holds_is_fine(make_tree):
    assert errors_of(make_tree, page(ANSWER))[0] == []


def test_a_block_that_differs_is_named(make_tree):
    errors, _ = errors_of(make_tree, page("int answer() { return 41; }"))
    assert errors == ["guide.md:3: not what a.cpp#answer holds; tools/check --fix docs repairs it"]


def test_fix_fills_all_blocks_in(make_tree):
    errors, text = errors_of(make_tree, page("") + page("old\nand longer\n\n"), fix=True)
    assert errors == []
    assert text == page(ANSWER) + page(ANSWER)


@pytest.mark.parametrize(
    ("mark", "complaint"),
    [
        ("<!-- include: b.cpp -->", "there is no b.cpp"),
        ("<!-- include: a.cpp#question -->", "0 regions named 'question'"),
    ],
)
def test_an_include_of_what_is_not_there_is_named(make_tree, mark, complaint):
    errors, _ = errors_of(make_tree, page(ANSWER, mark))
    assert len(errors) == 1
    assert complaint in errors[0]


def test_an_include_needs_a_block_of_its_language(make_tree):
    errors, _ = errors_of(make_tree, page(ANSWER, language="python"))
    assert errors == ["guide.md:4: the block should be marked as cpp"]
    errors, _ = errors_of(make_tree, "<!-- include: a.cpp#answer -->\nno block\n")
    assert errors == ["guide.md:1: include a.cpp: no code block follows"]


def test_a_link_that_leads_nowhere_is_named(make_tree):
    text = "[here](a.cpp#x), [site](https://example.org), `[code](none)`, [there](none.md)\n"
    errors, _ = errors_of(make_tree, text)
    assert errors == ["guide.md:1: the link leads nowhere: none.md"]


def test_the_documentation_of_this_tree_is_right():
    assert check(ROOT, tracked_files(ROOT, "*.md")) == []
