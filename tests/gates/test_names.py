"""Names are a gate: one name means one thing, retired words stay away, and actions are imperatives."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gates.grammar import Function, effects, is_participle
from tests.gates.source_copy import REPOSITORY

SOURCE = REPOSITORY / "src"


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
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


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


def test_names_in_docstrings_exist() -> None:
    known = {module: defined_names(tree) for module, tree in trees()}
    wrong = [
        f"{module}: {name}"
        for module, tree in trees()
        for text in docstrings(tree)
        for name in DOTTED.findall(text)
        if does_not_exist(name, known)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "missing"),
    [("ipmicra.crawler.remote", True), ("ipmicra.errors.Fault", False), ("ipmicra.errors.Lost", True)],
)
def test_a_name_that_does_not_exist_is_noticed(name: str, missing: bool) -> None:
    known = {"ipmicra": set[str](), "ipmicra.crawler": set[str](), "ipmicra.errors": {"Fault"}}
    assert does_not_exist(name, known) is missing


def retired_words(column: int) -> set[str]:
    """Words of a column of the vocabulary: 3 for names, 4 for docstrings too."""
    page = (REPOSITORY / "docs/reference/vocabulary.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| ")]
    assert all(len(row) == 6 for row in rows), "every row of the vocabulary has four columns"
    cells = [row[column] for row in rows if row[1].strip() != "what it is"]
    return {word.strip() for cell in cells for word in cell.split(",") if word.strip()}


def words_in(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+[a-z0-9]*|[a-z0-9]+", name)}


def public_names(module: str, tree: ast.Module) -> Iterator[str]:
    yield module
    for node in ast.walk(tree):
        kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, kinds) and not node.name.startswith("_"):
            yield f"{module}:{node.name}"


def names_with_a_retired_word(modules: Iterator[tuple[str, ast.Module]]) -> list[str]:
    retired = retired_words(3) | {word for word in retired_words(4) if " " not in word}
    return [
        name
        for module, tree in modules
        for name in public_names(module, tree)
        if retired & words_in(name.rpartition(":")[2].rpartition(".")[2])
    ]


def docstrings_with_a_retired_word(modules: Iterator[tuple[str, ast.Module]]) -> list[str]:
    retired = re.compile(rf"\b({'|'.join(sorted(map(re.escape, retired_words(4))))})\b", re.IGNORECASE)
    return [
        f"{module}: {word}"
        for module, tree in modules
        for text in docstrings(tree)
        for word in retired.findall(text)
    ]


def test_retired_words_do_not_come_back() -> None:
    assert {"ground", "ledger", "knob"} <= retired_words(3)
    assert names_with_a_retired_word(trees()) == []
    assert docstrings_with_a_retired_word(trees()) == []


def test_a_retired_word_is_noticed() -> None:
    tree = ast.parse('def open_ledger(): "Open what the Household keeps."\ndef _ledger(): ...')
    assert names_with_a_retired_word(iter([("ipmicra.a", tree)])) == ["ipmicra.a:open_ledger"]
    assert names_with_a_retired_word(iter([("ipmicra.household", ast.parse(""))])) == [
        "ipmicra.household"
    ]
    assert docstrings_with_a_retired_word(iter([("ipmicra.a", tree)])) == ["ipmicra.a: Household"]


def actions_named_by_participles(modules: Iterator[tuple[str, ast.Module]]) -> list[str]:
    return [
        f"{module}:{node.name} ({', '.join(sorted(effects(node)))})"
        for module, tree in modules
        for node in ast.walk(tree)
        if isinstance(node, Function) and is_participle(node.name) and effects(node)
    ]


def test_an_action_is_not_named_by_a_past_participle() -> None:
    """Imperative for what a function does, `on_...` for what it is told."""
    assert actions_named_by_participles(trees()) == []


@pytest.mark.parametrize(
    ("source", "noticed"),
    [
        ("async def sent(self): ...", True),
        ("def _stopped() -> None: ...", True),
        ("def released(self) -> int:\n    self.count += 1\n    return 1", True),
        ("def found(self) -> int:\n    self._rows.append(1)\n    return 1", True),
        ("def kept(connection) -> int:\n    return connection.execute(insert(table))", True),
        ("def released_sites(self) -> int: ...", False),
        ("def send(self) -> None: ...", False),
        ("def on_released(self) -> None: ...", False),
        ("@contextmanager\ndef thawed(self):\n    self.frozen = False", False),
        ("@property\ndef found(self) -> str:\n    self._text = 'x'\n    return self._text", False),
    ],
)
def test_an_action_named_by_a_past_participle_is_noticed(source: str, noticed: bool) -> None:
    assert bool(actions_named_by_participles(iter([("ipmicra.a", ast.parse(source))]))) is noticed
