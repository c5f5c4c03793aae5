import json

from layering import built_errors, check, find_cycle

BASE = "muster_add_module(base\n  LINK fmt::fmt\n  SOURCES a.cpp)\n"
CLUSTER = "muster_add_module(cluster\n  DEPS base\n  SOURCES planner.cpp)\n"
ENGINE = "muster_add_module(engine DEPS base SOURCES graph.cpp)\n"


def tree(planner: str) -> dict[str, str]:
    return {
        "src/muster/base/CMakeLists.txt": BASE,
        "src/muster/cluster/CMakeLists.txt": CLUSTER,
        "src/muster/engine/CMakeLists.txt": ENGINE,
        "src/muster/cluster/planner.h": planner,
    }


def test_declared_dependencies_may_be_included(make_tree):
    planner = '#include "muster/base/a.h"\n#include "muster/cluster/plan.h"\n#include <vector>\n'
    assert check(make_tree(tree(planner))) == []


def test_an_undeclared_dependency_is_named_with_file_and_line(make_tree):
    planner = '#pragma once\n\n#include "muster/engine/graph.h"\n'
    expected = ["src/muster/cluster/planner.h:3: cluster may not include engine"]
    assert check(make_tree(tree(planner))) == expected


def test_angle_brackets_do_not_hide_an_include(make_tree):
    errors = check(make_tree(tree("#include <muster/engine/graph.h>\n")))
    assert errors == ["src/muster/cluster/planner.h:1: cluster may not include engine"]


def test_headers_that_belong_to_no_module_are_free(make_tree):
    assert check(make_tree(tree('#include "muster/version.h"\n'))) == []


def test_a_test_may_include_no_more_than_its_module(make_tree):
    files = tree("")
    files["src/muster/cluster/planner_test.cpp"] = '#include "muster/engine/graph.h"\n'
    errors = check(make_tree(files))
    assert errors == ["src/muster/cluster/planner_test.cpp:1: cluster may not include engine"]


def test_a_dependency_that_is_no_module_is_refused(make_tree):
    files = tree("")
    files["src/muster/cluster/CMakeLists.txt"] = "muster_add_module(cluster DEPS bsae SOURCES)"
    errors = check(make_tree(files))
    assert errors == [
        "src/muster/cluster/CMakeLists.txt:1: cluster depends on bsae, which is no module"
    ]


def test_a_cycle_of_dependencies_is_refused(make_tree):
    files = tree("")
    files["src/muster/base/CMakeLists.txt"] = "muster_add_module(base DEPS cluster SOURCES a.cpp)"
    errors = check(make_tree(files))
    assert len(errors) == 1
    assert "modules depend on each other: base -> cluster -> base" in errors[0]


def test_a_diamond_is_no_cycle():
    assert find_cycle({"d": ["b", "c"], "b": ["a"], "c": ["a"], "a": []}) == []


def test_what_cmake_links_must_be_what_is_declared(make_tree):
    files = tree("")
    files["modules.json"] = json.dumps({"base": [], "cluster": ["base", "engine"]})
    root = make_tree(files)
    (error,) = built_errors(root, root / "modules.json")
    assert error.startswith("src/muster/cluster/CMakeLists.txt:1: CMake links")
