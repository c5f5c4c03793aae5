#!/usr/bin/env python3
"""Fails when a module includes a header of a module that its DEPS do not name.

The DEPS are read from the muster_add_module call in src/muster/<module>/CMakeLists.txt. They must
name known modules and form no cycle. A test may include what its module may.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from source_tree import ROOT, includes

KEYWORDS = {
    "HOT",
    "COLD",
    "TEST_LABEL",
    "DEPS",
    "LINK",
    "LINK_PRIVATE",
    "SOURCES",
    "PUBLIC_HEADERS",
}
CALL = re.compile(r"muster_add_module\(([^)]*)\)", re.DOTALL)
MODULE_INCLUDE = re.compile(r"muster/(\w+)/")


def declared_deps(cmake_lists: Path) -> dict[str, list[str]]:
    """The DEPS of each muster_add_module call in one file, by module name."""
    text = re.sub(r"#.*", "", cmake_lists.read_text(encoding="utf-8"))
    modules = {}
    for call in CALL.finditer(text):
        name, *words = call[1].split()
        deps, section = [], ""
        for word in words:
            if word in KEYWORDS:
                section = word
            elif section == "DEPS":
                deps.append(word)
        modules[name] = deps
    return modules


def read_modules(source: Path) -> dict[str, list[str]]:
    modules: dict[str, list[str]] = {}
    for cmake_lists in sorted(source.glob("*/CMakeLists.txt")):
        modules.update(declared_deps(cmake_lists))
    return modules


def find_cycle(modules: dict[str, list[str]]) -> list[str]:
    """One cycle as a path that ends where it begins, or an empty list."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for dep in modules.get(name, []):
            if cycle := visit(dep, [*path, name]):
                return cycle
        done.add(name)
        return []

    for module in modules:
        if cycle := visit(module, []):
            return cycle
    return []


def declaration_errors(modules: dict[str, list[str]], source: Path, root: Path) -> list[str]:
    errors = []
    for name, deps in modules.items():
        place = (source / name / "CMakeLists.txt").relative_to(root)
        errors += [
            f"{place}:1: {name} depends on {d}, which is no module"
            for d in deps
            if d not in modules
        ]
    if cycle := find_cycle(modules):
        place = (source / cycle[0] / "CMakeLists.txt").relative_to(root)
        errors.append(f"{place}:1: modules depend on each other: {' -> '.join(cycle)}")
    return errors


def include_errors(modules: dict[str, list[str]], source: Path, root: Path) -> list[str]:
    errors = []
    for name, deps in modules.items():
        files = sorted(f for f in (source / name).rglob("*") if f.suffix in {".h", ".cpp"})
        for file in files:
            for line, included in includes(file):
                match = MODULE_INCLUDE.match(included)
                if match and match[1] not in {name, *deps}:
                    place = f"{file.relative_to(root)}:{line}"
                    errors.append(f"{place}: {name} may not include {match[1]}")
    return errors


def check(root: Path) -> list[str]:
    source = root / "src" / "muster"
    modules = read_modules(source)
    return declaration_errors(modules, source, root) + include_errors(modules, source, root)


def built_errors(root: Path, modules_json: Path) -> list[str]:
    """Guards against this script reading the DEPS differently than CMake does."""
    declared = read_modules(root / "src" / "muster")
    built = json.loads(modules_json.read_text(encoding="utf-8"))
    return [
        f"src/muster/{name}/CMakeLists.txt:1: CMake links {deps}, the DEPS say {declared.get(name)}"
        for name, deps in built.items()
        if deps != declared.get(name)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="repository root")
    parser.add_argument("--built", type=Path, help="modules.json of a build, to compare with")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    errors = check(root)
    if arguments.built:
        errors += built_errors(root, arguments.built)
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
