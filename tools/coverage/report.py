"""What was marked in a run -> a table per package, and what falls below the floors.

Invariant: a list of exceptions cannot go stale: an entry whose module has long passed the floor, or is gone,
fails the run as a module below the floor does.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tools.coverage.marked_source import BRANCH, FUNCTION, HANDLER
from tools.coverage.preparation import REPOSITORY, modules

KINDS = (BRANCH, FUNCTION, HANDLER)
EXCEPTIONS = REPOSITORY / "tests/gates/modules_barely_run.txt"


class Floors(NamedTuple):
    """`[tool.ipmicra-coverage]` of `pyproject.toml`."""

    branch_percent_min: float  # of all branches outside `packages_left_out`
    packages_left_out: list[str]  # with all that is in them
    module_lines: int  # shorter modules need not reach `module_percent_min`
    module_percent_min: float  # of a module's branches, functions and handlers
    module_percent_passed: float  # from here on a module may not be listed as an exception


class Count(NamedTuple):
    """How many marks there are of each kind, and how many have run."""

    all: Counter[str]
    taken: Counter[str]

    def percent(self, *kinds: str) -> float:
        whole = sum(self.all[kind] for kind in kinds)
        return 100 * sum(self.taken[kind] for kind in kinds) / whole if whole else 100.0

    def __or__(self, other: Count) -> Count:
        return Count(self.all + other.all, self.taken + other.taken)


Counts = Mapping[str, Count]
NOTHING = Count(Counter(), Counter())


def read_floors() -> Floors:
    pyproject = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    return Floors(**pyproject["tool"]["ipmicra-coverage"])


def read_counts(folder: Path) -> dict[str, Count]:
    """For each module."""
    places = json.loads((folder / "places.json").read_text(encoding="utf-8"))
    taken = iter((folder / "taken").read_bytes())
    counts = {}
    for module, marks in places.items():
        hits = [(kind, next(taken)) for kind, _, _ in marks]
        counts[module] = Count(
            Counter(kind for kind, _ in hits), Counter(kind for kind, has_run in hits if has_run)
        )
    return counts


def package_of(module: str) -> str:
    return [*module.split("."), ""][1]


def is_left_out(module: str, packages: list[str]) -> bool:
    return any(f"{module}.".startswith(f"ipmicra.{package}.") for package in packages)


def outside(counts: Counts, packages: list[str]) -> Count:
    return _sum(count for module, count in counts.items() if not is_left_out(module, packages))


def _sum(counts: Iterator[Count]) -> Count:
    total = NOTHING
    for count in counts:
        total = total | count
    return total


def table(counts: Counts, floors: Floors) -> Iterator[str]:
    yield f"{'package':<16}{'branches':>9}{'taken':>8}{'functions':>11}{'except':>8}"
    for package in sorted({package_of(module) for module in counts}):
        count = _sum(count for module, count in counts.items() if package_of(module) == package)
        yield _row(package or "ipmicra", count)
    yield _row("without the lab", outside(counts, floors.packages_left_out))


def _row(name: str, count: Count) -> str:
    percents = [f"{count.percent(kind):.1f}%" for kind in KINDS]
    return f"{name:<16}{count.all[BRANCH]:>9}{percents[0]:>8}{percents[1]:>11}{percents[2]:>8}"


def shortcomings(
    counts: Counts, lines: Mapping[str, int], excepted: set[str], floors: Floors
) -> list[str]:
    """What keeps the run from passing, in words."""
    reached = outside(counts, floors.packages_left_out).percent(BRANCH)
    found = []
    if reached < floors.branch_percent_min:
        found.append(
            f"{reached:.2f}% of the branches were taken; the floor is {floors.branch_percent_min}%"
        )
    for module, count in counts.items():
        left_out = is_left_out(module, floors.packages_left_out)
        counted = lines[module] > floors.module_lines and not left_out
        found += _of_module(
            module, count.percent(*KINDS) if counted else None, module in excepted, floors
        )
    gone = sorted(excepted - set(counts))
    return [*found, *(f"{module}: is gone; take it off {EXCEPTIONS.name}" for module in gone)]


def _of_module(module: str, percent: float | None, excepted: bool, floors: Floors) -> Iterator[str]:
    """`percent` is None for a module that need not reach anything."""
    if percent is None:
        if excepted:
            yield f"{module}: needs no exception; take it off {EXCEPTIONS.name}"
    elif excepted and percent >= floors.module_percent_passed:
        yield f"{module}: the tests run {percent:.0f}% of it; take it off {EXCEPTIONS.name}"
    elif not excepted and percent < floors.module_percent_min:
        yield f"{module}: the tests run {percent:.0f}% of it, less than {floors.module_percent_min}%"


def read_exceptions(text: str) -> set[str]:
    """A module per line, with its reason behind a #."""
    return {line.partition("#")[0].strip() for line in text.splitlines()} - {""}


def read_lines() -> dict[str, int]:
    return {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in modules()}
