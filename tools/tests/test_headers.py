from pathlib import Path

from headers import check
from verdict_cache import VerdictCache

FORGETFUL = "#pragma once\n\ninline std::string name() { return {}; }\n"
COMPLETE = "#pragma once\n\n#include <string>\n\ninline std::string name() { return {}; }\n"


def run(root: Path) -> list[str]:
    headers = sorted(p.relative_to(root) for p in root.rglob("*.h"))
    flags = ["-I", str(root / "src")]
    return check(root, headers, lambda header: flags, VerdictCache(root / "passed"), jobs=2)


def test_a_complete_header_passes(make_tree):
    assert run(make_tree({"src/name.h": COMPLETE})) == []


def test_a_header_that_forgets_an_include_fails_with_file_and_line(make_tree):
    complaints = run(make_tree({"src/name.h": FORGETFUL, "src/other.h": COMPLETE}))
    assert len(complaints) == 1
    assert "src/name.h:3:" in complaints[0]


def test_a_passed_header_is_not_compiled_again(make_tree, capsys):
    root = make_tree({"src/name.h": COMPLETE})
    run(root)
    run(root)
    assert capsys.readouterr().out == "1 headers, 1 compiled\n1 headers, 0 compiled\n"


def test_a_failed_header_is_compiled_again(make_tree):
    root = make_tree({"src/name.h": FORGETFUL})
    assert run(root)
    assert run(root)
