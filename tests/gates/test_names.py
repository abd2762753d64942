"""Names are a gate: one public class name means one thing, and names of modules in docstrings exist."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gates.source_copy import REPOSITORY

SOURCE = REPOSITORY / "src"

# Public class names that are defined twice, and why. The list only becomes shorter.
DEFINED_TWICE = {
    "Engine": "the crawl's loop, and what answers a search",
    "Manifest": "of a backup, and of a bundle of code",
    "SendWhole": "the same wish on two borders: coordinator to host, host to guest",
    "Trial": "one run of two experiments of the lab",
}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((SOURCE / "ipmicra").rglob("*.py")):
        yield module_of(path), ast.parse(path.read_text(encoding="utf-8"))


def homes_of_classes(modules: Iterator[tuple[str, ast.Module]]) -> dict[str, list[str]]:
    homes = defaultdict(list)
    for module, tree in modules:
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module)
    return dict(homes)


def test_no_public_class_name_is_used_twice() -> None:
    homes = homes_of_classes(trees())
    twice = {name: modules for name, modules in homes.items() if len(modules) > 1}
    assert {name: modules for name, modules in twice.items() if name not in DEFINED_TWICE} == {}
    assert set(DEFINED_TWICE) <= set(twice), "the list only becomes shorter"


def test_a_second_class_of_the_same_name_is_noticed() -> None:
    modules = [(name, ast.parse("class Grant: ...")) for name in ("ipmicra.a", "ipmicra.b")]
    assert homes_of_classes(iter(modules)) == {"Grant": ["ipmicra.a", "ipmicra.b"]}


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def defined_names(tree: ast.Module) -> set[str]:
    """Everything that the module defines or imports, at any depth."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
    return names


def does_not_exist(name: str, known: dict[str, set[str]]) -> bool:
    """Whether a dotted name is neither a module nor something in one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        module = ".".join(parts[:end])
        if module in known:
            return end < len(parts) and parts[end] not in known[module]
    return True


DOTTED = re.compile(r"(?<![\w/.@])ipmicra(?:\.[A-Za-z_]\w*)+")
NOT_CODE = ("ipmicra.toml", "ipmicra.sqlite", "ipmicra.org")


def test_names_in_docstrings_exist() -> None:
    known = {module: defined_names(tree) for module, tree in trees()}
    wrong = [
        f"{module}: {name}"
        for module, tree in trees()
        for text in docstrings(tree)
        for name in DOTTED.findall(text)
        if name not in NOT_CODE and does_not_exist(name, known)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "missing"),
    [("ipmicra.crawler.remote", True), ("ipmicra.errors.Fault", False), ("ipmicra.errors.Lost", True)],
)
def test_a_name_that_does_not_exist_is_noticed(name: str, missing: bool) -> None:
    known = {"ipmicra": set[str](), "ipmicra.crawler": set[str](), "ipmicra.errors": {"Fault"}}
    assert does_not_exist(name, known) is missing


def retired_words() -> set[str]:
    page = (REPOSITORY / "docs/reference/vocabulary.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| ")][1:]
    return {word.strip() for row in rows for word in row[3].split(",") if word.strip()}


def words_in(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+[a-z0-9]*|[a-z0-9]+", name)}


def public_names(module: str, tree: ast.Module) -> Iterator[str]:
    yield module
    for node in ast.walk(tree):
        kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, kinds) and not node.name.startswith("_"):
            yield f"{module}:{node.name}"


def test_retired_words_do_not_come_back() -> None:
    """Names that still use one are listed; the list only becomes shorter."""
    listed = set((Path(__file__).parent / "retired_names.txt").read_text().split())
    retired = retired_words()
    assert {"ground", "ledger", "knob"} <= retired
    used = {
        name
        for module, tree in trees()
        for name in public_names(module, tree)
        if retired & words_in(name.rpartition(":")[2].rpartition(".")[2])
    }
    assert used - listed == set()
