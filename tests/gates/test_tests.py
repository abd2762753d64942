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


def test_a_test_without_an_assertion_is_noticed() -> None:
    assert not asserts(ast.parse("def test_a():\n    run()"))
    assert asserts(ast.parse("def test_a():\n    assert run()"))
