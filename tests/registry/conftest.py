"""Registry text -> allocations as plain rows, through the same path that a build takes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import NamedTuple

import pytest

from ipmicra.addresses import AddressRange, Family
from ipmicra.hierarchy.allocation import Allocation, Allocations
from ipmicra.registry.files import read_stream
from ipmicra.registry.formats import Format, format_of
from ipmicra.registry.organisation_join import allocations_of
from ipmicra.registry.parsers.accumulator import Accumulator
from ipmicra.registry.parsers.parse_statistics import Tally


class Read(NamedTuple):
    """What came of some files."""

    allocations: list[Allocation]
    tally: Tally

    def ranges(self) -> list[str]:
        return [str(allocation.range) for allocation in self.allocations]


Reader = Callable[..., Read]


def rows_of(allocations: Allocations) -> list[Allocation]:
    rows: list[Allocation] = []
    families: tuple[Family, Family] = (4, 6)
    for family in families:
        starts, lasts = allocations.column(family, "start"), allocations.column(family, "last")
        texts = {
            "country": allocations.countries.texts(),
            "registry": allocations.registries.texts(),
            "status": allocations.statuses.texts(),
            "source": allocations.sources.texts(),
        }
        facts = {
            name: allocations.column(family, name).tolist() for name in (*texts, "organisation", "asn")
        }
        for row, (start, last) in enumerate(zip(starts.tolist(), lasts.tolist(), strict=True)):
            if family == 6:
                start, last = start[0] << 64 | start[1], last[0] << 64 | last[1]
            number = facts["organisation"][row]
            rows.append(
                Allocation(
                    AddressRange(family, start, last + 1),
                    handle=allocations.organisations.handles[number] if number >= 0 else "",
                    name=allocations.organisations.names[number] if number >= 0 else "",
                    asn=facts["asn"][row],
                    **{name: texts[name][facts[name][row]] for name in texts},
                )
            )
    return rows


def read_texts(*texts: bytes, form: Format | None = None, name: str = "sample") -> Read:
    gathering = Accumulator()
    for text in texts:
        found = form or format_of(text, name)
        assert found is not None, "the sample's format was not recognised"
        read_stream(io.BytesIO(text), name, found, gathering)
    return Read(rows_of(allocations_of(gathering)), gathering.tally)


@pytest.fixture
def read() -> Reader:
    return read_texts
