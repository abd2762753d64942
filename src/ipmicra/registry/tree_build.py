"""Registry files -> a new tree in place of the old one, and a report of what came of it.

Invariant: the new tree is made beside the old one, which stays untouched until the new one is whole and
synced. Too many malformed records, a damaged file or an interruption leave the old tree as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from ipmicra.errors import OperatorFault
from ipmicra.hierarchy.build import Built, build_tree
from ipmicra.registry.comparison import Changes, changes_between
from ipmicra.registry.files import RegistryFiles, read_file
from ipmicra.registry.organisation_join import allocations_of
from ipmicra.registry.parsers.accumulator import Accumulator
from ipmicra.registry.parsers.parse_statistics import KINDS, Example, Tally
from ipmicra.registry.statistics import TreeStatistics, statistics_of
from ipmicra.registry.treefile import TreeFileRefused, open_tree, write_tree


class SourceKind(msgspec.Struct, frozen=True):
    """Malformed records of one kind."""

    what: str
    count: int
    examples: list[Example]


class Skipped(msgspec.Struct, frozen=True):
    """The parts of the files that are not in the tree."""

    records: int
    malformed_share: float
    malformed: dict[str, SourceKind]
    passed_over: dict[str, int]
    duplicates: int  # records whose range another record has already
    crossing: int  # ranges that were shortened since they crossed another


class About(msgspec.Struct, frozen=True):
    """The metadata in the tree's file."""

    built_at: str
    files: dict[str, str]  # name -> format
    left_out: list[str]
    skipped: Skipped


class BuildReport(msgspec.Struct, frozen=True):
    """The report of a build for the operator."""

    tree: str
    about: About
    statistics: TreeStatistics
    changes: Changes | None  # None where there was no old tree to compare with
    old_tree_refused: str = ""  # why there was one but it could not be compared with


class BuildObserver(Protocol):
    """A display of the progress of a build."""

    def reading(self, name: str, total_bytes: int) -> Callable[[int], None]:
        """A file is begun; the answer is called with the bytes read so far."""

    def stage(self, name: str) -> None:
        """Announce the next stage, of unknown length."""


def build(
    found: RegistryFiles, tree_path: Path, malformed_share_max: float, watcher: BuildObserver
) -> BuildReport:
    """Read the files, make the tree, and put it in the old one's place."""
    if not found.files:
        raise OperatorFault(
            "building the tree: no registry file was found; download them with: ipmicra registry fetch"
        )
    gathering = Accumulator()
    for file in found.files:
        watcher_of_file = watcher.reading(file.path.name, file.path.stat().st_size)
        read_file(file, gathering, watcher_of_file)
    watcher.stage("joining organisations")
    allocations = allocations_of(gathering)
    _refuse_bad_input(gathering.tally, malformed_share_max, tree_path)
    watcher.stage("nesting ranges")
    built = build_tree(allocations)
    about = _about(found, gathering.tally, built)
    watcher.stage("comparing with the old tree")
    changes, refused = _changes(tree_path, built)
    watcher.stage("writing the tree")
    write_tree(tree_path, built.tree, msgspec.to_builtins(about))
    return BuildReport(str(tree_path), about, statistics_of(built.tree), changes, refused)


def _changes(tree_path: Path, built: Built) -> tuple[Changes | None, str]:
    """The difference from the old tree; an old tree that cannot be read does not stop the build."""
    if not tree_path.exists():
        return None, ""
    try:
        return changes_between(open_tree(tree_path, checks_every_byte=True).tree, built.tree), ""
    except TreeFileRefused as refused:
        return None, str(refused)


def _refuse_bad_input(tally: Tally, malformed_share_max: float, tree_path: Path) -> None:
    stays = f"The old tree stays ({tree_path})." if tree_path.exists() else "No tree was made."
    damaged = tally.examples.get("damaged-file")
    if damaged:
        example = damaged[0]
        raise OperatorFault(
            f"building the tree: {example.file} is damaged after line {example.line} "
            f"({example.excerpt}); fetch it again: ipmicra registry fetch. {stays}"
        )
    if tally.malformed_share > malformed_share_max:
        raise OperatorFault(
            f"building the tree: {tally.malformed.total():,} of {tally.records:,} records are malformed, "
            f"{tally.malformed_share:.2%}, more than registry.malformed_share_max allows "
            f"({malformed_share_max:.2%}). {_examples(tally)}{stays}"
        )


def _examples(tally: Tally) -> str:
    return "".join(
        f"{kind} ({count:,}): {example.file}, line {example.line}: {example.excerpt!r}. "
        for kind, count in tally.malformed.most_common()
        for example in tally.examples[kind][:1]
    )


def _about(found: RegistryFiles, tally: Tally, built: Built) -> About:
    return About(
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
        files={file.path.name: file.format.name for file in found.files},
        left_out=[path.name for path in found.left_out],
        skipped=Skipped(
            records=tally.records,
            malformed_share=tally.malformed_share,
            malformed={
                kind: SourceKind(KINDS[kind], count, tally.examples[kind])
                for kind, count in tally.malformed.most_common()
            },
            passed_over=dict(tally.passed_over.most_common()),
            duplicates=built.tally.duplicates,
            crossing=built.tally.crossing,
        ),
    )
