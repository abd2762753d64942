"""A gathering, when all files are read -> allocations with their organisations' names and countries.

A network's organisation is joined by handle with the organisation object, from whichever file it came. The
object's name counts before the network's own (which is a description at best); the network's own country
counts before its organisation's, which may be the head office's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ipmicra.addresses import Family
from ipmicra.hierarchy.allocation import AllocationColumns, Allocations
from ipmicra.hierarchy.texts import TextTable
from ipmicra.registry.parsers.accumulator import Accumulator, NetworkColumns, Organisation
from ipmicra.registry.parsers.fields import Labels
from ipmicra.registry.parsers.normalisation import plain_text

FAMILIES: tuple[Family, Family] = (4, 6)
_NOTHING = Organisation(b"", b"")


def allocations_of(gathering: Accumulator) -> Allocations:
    """Everything gathered, in the order in which the files were read."""
    allocations = Allocations()
    join = _Join(gathering, allocations)
    for family in FAMILIES:
        columns = gathering.columns(family)
        facts = join.facts(columns)
        if family == 4:
            allocations.append_v4(columns.first_low, columns.last_low, facts)
        else:
            starts = np.stack((columns.first_high, columns.first_low), axis=1)
            lasts = np.stack((columns.last_high, columns.last_low), axis=1)
            allocations.append_v6(starts, lasts, facts)
    return allocations


class _Join:
    """Turns the gathering's labels into the allocations' numbers."""

    def __init__(self, gathering: Accumulator, allocations: Allocations) -> None:
        self._organisations = gathering.organisations
        self._handles, self._names = list(gathering.handles.numbers), list(gathering.names.numbers)
        self._words = [word.decode("latin-1") for word in gathering.words.numbers]
        self._files = [name.decode() for name in gathering.files.numbers]
        self._allocations = allocations

    def facts(self, columns: NetworkColumns) -> AllocationColumns:
        allocations = self._allocations
        return AllocationColumns(
            organisation=self._organisation(columns),
            country=self._country(columns),
            registry=_renumbered(columns.registry, self._words, allocations.registries),
            status=_renumbered(columns.status, self._words, allocations.statuses),
            source=_renumbered(columns.file, self._files, allocations.sources),
            asn=columns.asn,
        )

    def _organisation(self, columns: NetworkColumns) -> NDArray[np.int32]:
        """The rules of identity are applied once to each different (registry, handle, name)."""
        named = np.where(columns.handle == 0, columns.name, self._named_by_network(columns))
        keys = columns.registry.astype(np.uint64) * np.uint64(len(self._handles)) + columns.handle
        keys = keys * np.uint64(len(self._names)) + named
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        in_order = np.argsort(first, kind="stable")
        rows = first[in_order]
        labels = (column[rows].tolist() for column in (columns.registry, columns.handle, named))
        numbers = np.zeros(len(first), np.int32)
        numbers[in_order] = list(map(self._numbered, *labels))
        return numbers[place]

    def _named_by_network(self, columns: NetworkColumns) -> Labels:
        """The network's own name, but none where the organisation's object says a name."""
        says_name = np.array([bool(self._known(handle).name) for handle in self._handles])
        return np.where(says_name[columns.handle], np.uint32(0), columns.name)

    def _numbered(self, registry: int, handle: int, name: int) -> int:
        written = self._handles[handle]
        return self._allocations.organisations.number(
            self._words[registry],
            plain_text(written) if written else "",
            plain_text(self._known(written).name or self._names[name]),
        )

    def _country(self, columns: NetworkColumns) -> NDArray[np.uint16]:
        number = self._allocations.countries.number
        of_organisation = np.array(
            [number(self._known(handle).country.decode("ascii")) for handle in self._handles], np.uint16
        )
        own = _renumbered(columns.country, self._words, self._allocations.countries)
        return np.where(own == 0, of_organisation[columns.handle], own)

    def _known(self, handle: bytes) -> Organisation:
        return self._organisations.get(handle, _NOTHING)


def _renumbered(labels: Labels, texts: list[str], numbers: TextTable) -> NDArray[np.uint16]:
    """Labels of one list of texts as numbers of another."""
    used = np.flatnonzero(np.bincount(labels, minlength=1)).tolist()
    renumbered = np.zeros(len(texts), np.uint16)
    for label in used:
        renumbered[label] = numbers.number(texts[label])
    return renumbered[labels]
