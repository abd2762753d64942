"""A BoxWorld -> the network plan of its router: endpoints, their wires, delays and faults.

Wires: 0 is the sites', 1 the coordinator's, the crawlers' follow in their order. The name server is an
endpoint on the sites' wire, equally near to everyone.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ipmicra.lab.box.network.plan import Effect, Endpoint, NetworkFault, NetworkLink, NetworkPlan
from ipmicra.lab.box.world.box_world import (
    COORDINATOR,
    EVERYBODY,
    AccessLink,
    BoxFault,
    BoxSite,
    BoxWorld,
)

SITES_WIRE, COORDINATOR_WIRE, FIRST_CRAWLER_WIRE = 0, 1, 2
NAMES = "name server"
BYTES_PER_MBIT = 125_000.0
UNKNOWN_S = 60.0  # a round trip that is never used, for example between sites
_EFFECTS = {"cut": Effect.CUT, "loss": Effect.LOSS, "slower": Effect.ADDED}


def plan_of(world: BoxWorld) -> NetworkPlan:
    """The router's plan; raises nothing for a validated world."""
    endpoints = tuple(_endpoints(world))
    faults = [fault_between(world, endpoints, fault) for fault in world.file.faults]
    return NetworkPlan(
        endpoints=endpoints,
        one_way_s=_one_way_s(world),
        jitter_s=world.file.jitter_ms / 1e3,
        loss=world.file.loss,
        faults=tuple(faults),
        seed=world.file.seed,
    )


def stand_name(site: BoxSite, number: int) -> str:
    """A stand's endpoint; a site's first has the site's own name."""
    return site.name if number == 0 else f"{site.name}#{number}"


def fault_between(world: BoxWorld, endpoints: tuple[Endpoint, ...], fault: BoxFault) -> NetworkFault:
    """The fault with names resolved to numbers of endpoints."""
    amount = fault.loss if fault.kind == "loss" else fault.round_trip_ms / 2e3
    one, other = (_numbers(world, endpoints, names) for names in (fault.one, fault.other))
    apart = one if EVERYBODY in fault.other else frozenset()
    return NetworkFault(fault.at_s, fault.until_s, one, other - apart, _EFFECTS[fault.kind], amount)


def _endpoints(world: BoxWorld) -> Iterable[Endpoint]:
    file, numbers = world.file, world.place_numbers
    yield Endpoint(NAMES, SITES_WIRE, (file.names_address,), (len(numbers),))
    home = file.coordinator
    yield Endpoint(
        COORDINATOR, COORDINATOR_WIRE, home.addresses, (numbers[home.place],), _link(home.link)
    )
    for wire, crawler in enumerate(file.crawlers, FIRST_CRAWLER_WIRE):
        here = (numbers[crawler.place],)
        yield Endpoint(crawler.name, wire, crawler.addresses, here, _link(crawler.link), not crawler.nat)
    for site in file.sites:
        for number, stand in enumerate(site.stands):
            places = tuple(numbers[place] for place in stand.places)
            name = stand_name(site, number)
            link = _link(stand.link)
            yield Endpoint(name, SITES_WIRE, stand.addresses, places, link, answers=site.serves)


def _one_way_s(world: BoxWorld) -> tuple[tuple[float, ...], ...]:
    """Half of each round trip; the last row and column are the name server's place."""
    count = len(world.file.places)
    half_s = np.full((count + 1, count + 1), world.file.names_ms / 2e3)
    half_s[:count, :count] = np.nan_to_num(world.round_trips_ms / 2e3, nan=UNKNOWN_S)
    return tuple(tuple(row) for row in half_s.tolist())


def _numbers(world: BoxWorld, endpoints: tuple[Endpoint, ...], names: tuple[str, ...]) -> frozenset[int]:
    """Endpoints of that name, in a place of that name, or on a continent of that name.

    The name server acts as each crawler's own resolver, in all places at once: faults do not affect it.
    """
    if EVERYBODY in names:
        return frozenset(number for number, end in enumerate(endpoints) if end.name != NAMES)
    wanted = set(names)
    places = {
        number
        for number, place in enumerate(world.file.places)
        if place.name in wanted or place.continent in wanted
    }
    return frozenset(
        number
        for number, end in enumerate(endpoints)
        if end.name.partition("#")[0] in wanted or set(end.places) <= places
    )


def _link(link: AccessLink) -> NetworkLink:
    return NetworkLink(
        link.up_mbit * BYTES_PER_MBIT, link.down_mbit * BYTES_PER_MBIT, link.queue_ms / 1e3
    )
