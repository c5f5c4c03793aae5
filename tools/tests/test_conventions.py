from pathlib import Path

from conventions import check


def errors_of(root: Path) -> list[str]:
    files = sorted(p.relative_to(root) for p in root.rglob("*") if p.is_file())
    return check(root, files)


def test_an_ordinary_tree_passes(make_tree):
    files = {
        "src/muster/base/name.h": "#pragma once\n",
        "src/muster/base/name_test.cpp": '#include "muster/base/name.h"\n\n#include <string>\n',
    }
    assert errors_of(make_tree(files)) == []


def test_names_that_say_nothing_are_refused(make_tree):
    files = ["base/string_utils.py", "common/name.py", "base/job_manager.py"]
    errors = errors_of(make_tree(dict.fromkeys(files, "")))
    assert [e.split(":")[0] for e in errors] == sorted(files)


def test_words_that_only_contain_such_a_name_pass(make_tree):
    assert errors_of(make_tree({"base/commonwealth.py": ""})) == []


def test_a_header_without_pragma_once_is_refused(make_tree):
    assert errors_of(make_tree({"a.h": "int f();\n"})) == ["a.h:1: a header needs #pragma once"]


def test_a_test_must_include_its_header_first(make_tree):
    files = {
        "src/muster/base/name.h": "#pragma once\n",
        "src/muster/base/name_test.cpp": '#include <string>\n#include "muster/base/name.h"\n',
    }
    (error,) = errors_of(make_tree(files))
    assert error.startswith("src/muster/base/name_test.cpp:1: the first include")


def test_a_folder_of_one_machine_is_refused(make_tree):
    folder = "/" + "home/alice/"
    (error,) = errors_of(make_tree({"README.md": f"one\ncd {folder}muster\n"}))
    assert error.startswith("README.md:2: names a folder of one machine")


def test_a_package_index_is_refused(make_tree):
    option = "--index" + "-url"
    (error,) = errors_of(make_tree({"install.sh": f"pip install {option} http://x muster\n"}))
    assert error.startswith("install.sh:1: names a package index")
