"""Reports of the registry -> tables for people."""

from __future__ import annotations

from itertools import islice

from rich.markup import escape
from rich.table import Table

from ipmicra.registry.comparison import Changes
from ipmicra.registry.statistics import TreeStatistics
from ipmicra.registry.tree_build import Skipped


def statistics_table(statistics: TreeStatistics, countries_max: int) -> Table:
    """The tree in numbers."""
    table = Table("in the tree", "", title_justify="left")
    table.columns[1].justify = "right"
    for name, family in (("IPv4", statistics.ipv4), ("IPv6", statistics.ipv6)):
        table.add_row(f"{name} ranges", f"{family.ranges:,}")
        table.add_row(
            f"{name} depth, at most and on average", f"{family.depth_max} / {family.depth_mean}"
        )
        table.add_row(f"{name} ranges of one address", f"{family.unary:,}")
    table.add_row("organisations", f"{statistics.organisations:,}", end_section=True)
    for registry, count in statistics.registries.items():
        table.add_row(f"registry {escape(registry)}", f"{count:,}")
    table.add_section()
    for country, count in islice(statistics.countries.items(), countries_max):
        table.add_row(f"country {escape(country)}", f"{count:,}")
    others = list(islice(statistics.countries.values(), countries_max, None))
    if others:
        table.add_row(f"{len(others)} other countries", f"{sum(others):,}")
    return table


def skipped_table(skipped: Skipped) -> Table:
    """The records that are not in the tree, with the first examples of each kind."""
    table = Table("not in the tree", "records", "for example")
    table.columns[1].justify = "right"
    for name, kind in skipped.malformed.items():
        examples = "\n".join(
            f"{example.file}:{example.line}  {example.excerpt.partition(chr(10))[0]}"
            for example in kind.examples
        )
        table.add_row(f"malformed, {name}: {kind.what}", f"{kind.count:,}", escape(examples))
    for name, count in skipped.passed_over.items():
        table.add_row(f"no allocation: {escape(name)}", f"{count:,}")
    table.add_row("same range as another record", f"{skipped.duplicates:,}")
    table.add_row("shortened, as it crossed another", f"{skipped.crossing:,}")
    return table


def changes_table(changes: Changes) -> Table:
    """The changes of the new tree."""
    table = Table("since the old tree", "ranges", "for example")
    table.columns[1].justify = "right"
    rows = (
        ("added", changes.added, changes.examples_added),
        ("removed", changes.removed, changes.examples_removed),
        ("changed hands", changes.changed_hands, changes.examples_changed_hands),
    )
    for name, count, examples in rows:
        lines = [
            f"{one.range}  {' -> '.join(filter(None, (one.before, one.after)))}" for one in examples
        ]
        table.add_row(name, f"{count:,}", escape("\n".join(lines)))
    return table
