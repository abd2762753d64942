"""A recording -> disks as they may be after a power cut, each with the promises that were made before it.

Cuts are made at each mark, and before each sync and each change of a folder. At each: nothing uncertain is
there; all of it; only the entries; only the bytes; every legal choice of entries, where they are few; and
entries and torn files by dice. The sharpest at each mark are always taken: nothing uncertain, and all of it;
and all of it before each rename, by which programs commit. Of the others as many as are asked for, by a
seeded draw over both models; the same disk is taken once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path, PurePosixPath
from random import Random
from typing import NamedTuple

from tests.power_cut.disk_model import DiskModel, EntryChange, Tree
from tests.power_cut.file_operations import Link, MakeFolder, Remove, Rename, Sync
from tests.power_cut.recorder import Mark, Recording

FEW = 4  # changes of entries, of which every choice is tried
SHARPEST = ("certain", "running")


@dataclass(frozen=True)
class CrashState:
    """A disk after a power cut. `marks` is what had been promised before."""

    at: int  # operations before the cut
    kind: str
    tree: Tree
    marks: tuple[Mark, ...]

    @property
    def is_killed_only(self) -> bool:
        """Nothing was lost: so a killed process leaves its files."""
        return self.kind == "running"

    def lay_out(self, root: Path, target: Path) -> Path:
        """Write the disk's files into `target`, a new folder, as if it were the folder that was recorded."""
        target.mkdir(parents=True)
        for path, content in sorted(self.tree.items()):
            place = target / path.relative_to(root)
            if content is None:
                place.mkdir(parents=True, exist_ok=True)
            else:
                place.write_bytes(content)
        return target

    def __str__(self) -> str:
        return f"cut after operation {self.at} ({self.kind}; {len(self.marks)} promises before it)"


class _Cut(NamedTuple):
    """Where the power fails, on a model that has come so far."""

    at: int
    marks: tuple[Mark, ...]
    is_at_mark: bool
    is_before_commit: bool = False

    def is_sharpest(self, kind: str) -> bool:
        return (self.is_at_mark and kind in SHARPEST) or (self.is_before_commit and kind == "running")


class _Choice(NamedTuple):
    kind: str
    tree: Callable[[], Tree]


def sample(recording: Recording, count: int, seed: int) -> list[CrashState]:
    """Disks of both models: the sharpest at each mark, and `count` of the others."""
    drawn = Random(seed).sample(places := list(_places(recording)), min(count, len(places)))
    wanted = set(drawn)
    states: dict[tuple[str, int], CrashState] = {}
    for is_orderly in (False, True):
        for cut, model in _cuts(recording, is_orderly):
            for choice in _choices(model, Random(f"{seed} {cut.at}")):
                if cut.is_sharpest(choice.kind) or (is_orderly, cut.at, choice.kind) in wanted:
                    tree = choice.tree()
                    state = CrashState(cut.at, choice.kind, tree, cut.marks)
                    states.setdefault((_digest(tree), len(cut.marks)), state)
    return list(states.values())


def _places(recording: Recording) -> Iterator[tuple[bool, int, str]]:
    """Every disk that can be asked for, by its model, cut and kind."""
    for is_orderly in (False, True):
        for cut, model in _cuts(recording, is_orderly):
            yield from ((is_orderly, cut.at, choice.kind) for choice in _choices(model, Random(0)))


def _cuts(recording: Recording, is_orderly: bool) -> Iterator[tuple[_Cut, DiskModel]]:
    model = DiskModel(PurePosixPath(recording.root), recording.before, is_orderly)
    marks, passed = sorted(recording.marks), 0
    for at, (begun_s, operation) in enumerate(recording.operations):
        before = passed
        passed += sum(1 for mark in marks[passed:] if mark.at_s < begun_s)
        if passed > before or isinstance(operation, Sync | MakeFolder | Remove | Rename | Link):
            commits = isinstance(operation, Rename) and not operation.target.name.startswith(".")
            yield _Cut(at, tuple(marks[:passed]), passed > before, commits), model
        model.apply(operation)
    yield _Cut(len(recording.operations), tuple(marks), True), model


def _choices(model: DiskModel, dice: Random) -> Iterator[_Choice]:
    pending, files = list(model.pending), model.uncertain_files()

    def whole() -> dict[int, bytes]:
        return {number: bytes(model.inodes[number].running) for number in files}

    def torn() -> dict[int, bytes]:
        return {number: model.torn(number, dice) for number in files if dice.random() < 0.8}

    yield _Choice("certain", lambda: model.after_cut([], {}))
    yield _Choice("running", model.as_running)
    if pending:
        yield _Choice("entries without bytes", lambda: model.after_cut(pending, {}))
    if files:
        yield _Choice("bytes without entries", lambda: model.after_cut([], whole()))
        yield _Choice("torn", lambda: model.after_cut(pending, torn()))
    for number, kept in enumerate(_legal(model)):
        yield _Choice(f"entries {number}", lambda kept=kept: model.after_cut(kept, {}))  # type: ignore[misc]
        if files:
            all_bytes = f"entries {number}, all bytes"
            yield _Choice(all_bytes, lambda kept=kept: model.after_cut(kept, whole()))  # type: ignore[misc]
    if len(pending) > 1:
        drawn = model.with_earlier([change for change in pending if dice.random() < 0.5])
        yield _Choice("entries by dice, torn", lambda: model.after_cut(drawn, torn()))


def _legal(model: DiskModel) -> Iterator[list[EntryChange]]:
    """Some of the changes, each with the earlier ones of the same entry; orderly: the first few."""
    pending = model.pending
    if model.is_orderly:
        yield from (pending[:end] for end in range(1, len(pending)))
    elif len(pending) <= FEW:
        for size in range(1, len(pending)):
            for some in combinations(pending, size):
                if len(closed := model.with_earlier(some)) == size:
                    yield closed


def _digest(tree: Tree) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path, content in sorted(tree.items()):
        digest.update(str(path).encode() + b"\0")
        digest.update(b"folder" if content is None else hashlib.blake2b(content).digest())
    return digest.hexdigest()
