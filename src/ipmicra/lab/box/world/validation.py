"""A world -> nothing, or the operator's fault: what in it cannot be.

Invariant: a world that passes can be built; no fault of the world shows up as a defect of the box.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from ipmicra.addresses import AddressRange
from ipmicra.errors import OperatorFault
from ipmicra.lab.box.world.box_world import COORDINATOR, EVERYBODY, BoxFault, BoxWorld
from ipmicra.net.address_guard import special_kind


def check(world: BoxWorld) -> None:
    """Raise OperatorFault with everything that is wrong, the first ten of it."""
    wrong = list(_wrongs(world))
    if wrong:
        more = f"; and {len(wrong) - 10} more" if len(wrong) > 10 else ""
        raise OperatorFault(f"the world {world.file.name!r}: {'; '.join(wrong[:10])}{more}")


def _wrongs(world: BoxWorld) -> Iterator[str]:
    yield from _names(world)
    unknown = list(_unknown_places(world))
    yield from unknown
    yield from _addresses(world)
    yield from _amounts(world)
    if not unknown:
        yield from _latencies(world)
        known = names_in_faults(world)
        for fault in world.file.faults:
            yield from _fault(fault, known)


def names_in_faults(world: BoxWorld) -> set[str]:
    """The names that the sides of a fault may have."""
    file = world.file
    continents = {place.continent for place in file.places if place.continent}
    return {EVERYBODY, COORDINATOR, *continents}.union(*_kinds(world).values())


def _kinds(world: BoxWorld) -> dict[str, list[str]]:
    file = world.file
    return {
        "place": [place.name for place in file.places],
        "crawler": [crawler.name for crawler in file.crawlers],
        "site": [site.name for site in file.sites],
    }


def _names(world: BoxWorld) -> Iterator[str]:
    for kind, names in _kinds(world).items():
        if not names:
            yield f"it has no {kind}"
        for name, times in Counter(names).items():
            if times > 1 or not name or name in (EVERYBODY, COORDINATOR):
                yield f"the {kind} name {name!r} is used {times} times, empty or reserved"


def _unknown_places(world: BoxWorld) -> Iterator[str]:
    known = {place.name for place in world.file.places}
    for owner, places in _stands(world):
        for place in places:
            if place not in known:
                yield f"{owner} is in {place!r}, which is not a place of this world"
        if not places:
            yield f"{owner} is in no place"


def _stands(world: BoxWorld) -> Iterator[tuple[str, tuple[str, ...]]]:
    file = world.file
    yield COORDINATOR, (file.coordinator.place,)
    for crawler in file.crawlers:
        yield f"crawler {crawler.name}", (crawler.place,)
    for site in file.sites:
        if not site.stands:
            yield f"site {site.name}", ()
        for stand in site.stands:
            yield f"site {site.name}", stand.places


def _addresses(world: BoxWorld) -> Iterator[str]:
    """Each address public and of one owner only."""
    file = world.file
    owners: list[tuple[str, Iterable[str]]] = [
        (COORDINATOR, file.coordinator.addresses),
        ("the name server", (file.names_address,)),
        *((f"crawler {crawler.name}", crawler.addresses) for crawler in file.crawlers),
        *((f"site {site.name}", stand.addresses) for site in file.sites for stand in site.stands),
    ]
    held: list[tuple[AddressRange, str]] = []
    for owner, addresses in owners:
        for text in addresses:
            try:
                held.append((AddressRange.parse(text), owner))
            except ValueError as error:
                yield f"{owner}: {error}"
        if not addresses:
            yield f"{owner} has no address"
    for block, owner in held:
        kind = special_kind(block.first_address()) or special_kind(block.last_address())
        if kind is not None:
            yield f"{owner}: {block} is not public ({kind}), no crawler would call it"
    for (one, first), (other, second) in pairwise(sorted(held)):
        if one.overlaps(other):
            yield f"{one} of {first} and {other} of {second} overlap"


def _amounts(world: BoxWorld) -> Iterator[str]:
    file = world.file
    if not 0 <= file.loss < 1:
        yield f"loss = {file.loss}: write 0 to below 1"
    if not 0 <= file.jitter_ms < 10_000:
        yield f"jitter_ms = {file.jitter_ms}: write 0 to 10000"
    for site in file.sites:
        if not 1 <= site.pages <= 100_000 or site.think_ms < 0 or not 0 <= site.page_bytes <= 10_000_000:
            yield f"site {site.name}: pages, page_bytes or think_ms out of range"
    links = [file.coordinator.link, *(crawler.link for crawler in file.crawlers)]
    links += [stand.link for site in file.sites for stand in site.stands]
    if any(link.up_mbit < 0 or link.down_mbit < 0 or link.queue_ms < 0 for link in links):
        yield "a link has a rate or queue below 0"


def _latencies(world: BoxWorld) -> Iterator[str]:
    """Known, and not below 0, from every crawler and the coordinator to everyone."""
    numbers = world.place_numbers
    askers = [world.file.coordinator.place, *(crawler.place for crawler in world.file.crawlers)]
    for asker in dict.fromkeys(askers):
        row = world.round_trips_ms[numbers[asker]]
        for owner, places in _stands(world):
            known = [float(row[numbers[place]]) for place in places]
            if any(not ms >= 0 or math.isinf(ms) for ms in known):
                yield f"no round trip from {asker} to {owner}"


def _fault(fault: BoxFault, known: set[str]) -> Iterator[str]:
    for name in (*fault.one, *fault.other):
        if name not in known:
            yield f"a fault names {name!r}, which does not exist in this world"
    if not 0 <= fault.at_s < fault.until_s:
        yield f"a fault from {fault.at_s} to {fault.until_s} s"
    if fault.kind == "loss" and not 0 < fault.loss < 1:
        yield f"a fault loses {fault.loss}: write above 0 to below 1"
