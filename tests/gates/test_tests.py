"""Tests are a gate too: none without an assertion."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.gates.source_copy import REPOSITORY

# Tests that fail by raising, with what is raised. The list only becomes shorter.
RAISES = {
    "tests/overlay/test_killed_crawlers.py::test_a_fifth_is_killed_and_every_page_is_found_again": (
        "the harness asserts"
    ),
}


def test_functions(path: Path) -> Iterator[tuple[str, bool]]:
    """Each test of the file, and whether it asserts, be it by a function of the same file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    asserting = {node.name for node in functions if asserts(node)}
    for node in functions:
        if node.name.startswith("test_"):
            names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            names |= {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
            yield node.name, bool(asserting & {*names, node.name})


test_functions.__test__ = False  # type: ignore[attr-defined]  # its name is what it finds


def asserts(test: ast.AST) -> bool:
    """An assert statement, pytest.raises, or a call of something that is named check, expect or assert."""
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Attribute | ast.Name):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            if name in ("raises", "warns", "fail") or name.startswith(("check", "assert", "expect")):
                return True
    return False


def test_every_test_asserts() -> None:
    mute = {
        f"{path.relative_to(REPOSITORY)}::{name}"
        for path in sorted((REPOSITORY / "tests").rglob("test_*.py"))
        for name, does_assert in test_functions(path)
        if not does_assert
    }
    assert mute == set(RAISES)


def test_a_mute_test_is_noticed() -> None:
    assert not asserts(ast.parse("def test_a():\n    run()"))
    assert asserts(ast.parse("def test_a():\n    assert run()"))


def imported_by_tests() -> set[str]:
    names = set()
    for path in (REPOSITORY / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
            elif isinstance(node, ast.Import):
                names |= {each.name for each in node.names}
    return names


def test_a_new_module_of_more_than_40_lines_is_imported_by_a_test() -> None:
    """Those that are not yet are listed; the list only becomes shorter."""
    listed = set((Path(__file__).parent / "modules_without_a_test.txt").read_text().split())
    imported, source = imported_by_tests(), REPOSITORY / "src"
    larger = {
        ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        for path in (source / "ipmicra").rglob("*.py")
        if len(path.read_text(encoding="utf-8").splitlines()) > 40
    }
    assert larger - imported - listed == set()
