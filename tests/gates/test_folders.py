"""Folders show the architecture: none has more modules side by side than a reader can survey."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.gates.source_copy import REPOSITORY

SOURCE = REPOSITORY / "src" / "ipmicra"
MODULES_MAX = 14

# Larger folders, and why they are flat.
LARGER = {
    "cli/commands/coordinator": "one file per command, found by its name",
    "coordinator/api": "one file per part of the HTTP service",
    "coordinator/store": "one file per kind of row",
}


def too_large(modules: Iterable[Path]) -> set[str]:
    """Folders with more than MODULES_MAX modules."""
    counts = Counter(module.parent.as_posix() for module in modules if module.name != "__init__.py")
    return {folder for folder, count in counts.items() if count > MODULES_MAX}


def test_no_folder_has_too_many_modules() -> None:
    modules = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py")]
    assert too_large(modules) == set(LARGER), (
        "split the folder; a folder that became smaller leaves the list"
    )


def test_a_folder_with_too_many_modules_is_noticed() -> None:
    names = ["__init__", *(f"module_{number}" for number in range(MODULES_MAX))]
    modules = [Path("crawler", f"{name}.py") for name in names]
    assert too_large(modules) == set()
    assert too_large([*modules, Path("crawler/one_more.py")]) == {"crawler"}
