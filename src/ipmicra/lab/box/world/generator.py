"""A lab's world (measured or made up) and a seed -> a world for the box.

Crawlers and sites are drawn as the experiments draw them; the coordinator stands where one more crawler
would. With IPv6 everyone gets an address of that family beside the other one; it says the same as the
IPv4 address in other digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv6Address
from typing import TypedDict

import msgspec
import numpy as np

from ipmicra.addresses import IPAddress
from ipmicra.errors import OperatorFault
from ipmicra.lab.box.world.box_world import (
    AccessLink,
    BoxCoordinator,
    BoxCrawler,
    BoxPlace,
    BoxSite,
    BoxWorld,
    Stand,
    WorldFile,
)
from ipmicra.lab.box.world.validation import check
from ipmicra.lab.box.world.world_file import SAME_PLACE_MS
from ipmicra.lab.simulation.sampling import Draw, draw_crawlers, draw_sites
from ipmicra.lab.world import LatencyNode, Milliseconds, World

SIX_PREFIX = int(IPv6Address("2600::"))
SIX_SHIFT_BITS = 64


class WorldRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How large a world, and what its sites and links are like."""

    crawlers: int = 4
    sites: int = 40
    pages: int = 5
    page_bytes: int = 3_000
    jitter_ms: float = 0.0
    loss: float = 0.0
    link: AccessLink = AccessLink()
    ipv6: bool = False


def made_world(world: World, seed: int, wanted: WorldRequest, number: int = 0) -> BoxWorld:
    """The draw with that number of the world under that seed, as a world for the box."""
    generator = np.random.default_rng([seed, number])
    *stands, home = draw_crawlers(world, wanted.crawlers + 1, generator)
    draw = draw_sites(world, (*stands, home), generator, number, wanted.sites)
    if len(draw.sites) < wanted.sites:
        raise OperatorFault(
            f"{world.name}: {wanted.sites} sites were asked for, only {len(draw.sites)} have known round "
            f"trips to all {wanted.crawlers} crawlers and the coordinator"
        )
    used = list(dict.fromkeys([*stands, home, *draw.site_places]))
    file = WorldFile(
        name=f"{world.name}-seed-{seed}-draw-{number}",
        seed=seed,
        jitter_ms=wanted.jitter_ms,
        loss=wanted.loss,
        places=tuple(_place(world.places[place]) for place in used),
        coordinator=BoxCoordinator(**_stand(world.places[home], wanted.ipv6)),
        crawlers=tuple(
            BoxCrawler(
                name=f"crawler-{count:02}", link=wanted.link, **_stand(world.places[place], wanted.ipv6)
            )
            for count, place in enumerate(stands)
        ),
        sites=tuple(_sites(world, draw, wanted)),
    )
    made = BoxWorld(file, _round_trips(world, used))
    check(made)
    return made


def altered(world: BoxWorld, **changed: object) -> BoxWorld:
    """The same world with other things in its file: faults, losses, crawlers, sites."""
    different = BoxWorld(msgspec.structs.replace(world.file, **changed), world.round_trips_ms)
    check(different)
    return different


def six_of(address: IPAddress) -> IPv6Address:
    """The IPv6 address that goes with an IPv4 one: 192.0.2.1 gives 2600::c000:201:0:0:0:1."""
    return IPv6Address(SIX_PREFIX + (int(address) << SIX_SHIFT_BITS) + 1)


class _Standing(TypedDict):
    place: str
    addresses: tuple[str, ...]


def _stand(place: LatencyNode, ipv6: bool) -> _Standing:
    return {"place": place_name(place), "addresses": _addresses(place.address, ipv6)}


def _sites(world: World, draw: Draw, wanted: WorldRequest) -> Iterator[BoxSite]:
    for site, place in zip(draw.sites, draw.site_places, strict=True):
        stand = Stand(
            places=(place_name(world.places[place]),), addresses=_addresses(site.address, wanted.ipv6)
        )
        yield BoxSite(name=site.name, stands=(stand,), pages=wanted.pages, page_bytes=wanted.page_bytes)


def place_name(place: LatencyNode) -> str:
    return f"place-{place.name}"


def _place(place: LatencyNode) -> BoxPlace:
    return BoxPlace(
        name=place_name(place),
        latitude=place.latitude,
        longitude=place.longitude,
        country=place.country,
        continent=place.continent,
    )


def _addresses(address: IPAddress | None, ipv6: bool) -> tuple[str, ...]:
    assert address is not None, "a drawn place has an address"
    return (str(address), str(six_of(address))) if ipv6 else (str(address),)


def _round_trips(world: World, places: list[int]) -> Milliseconds:
    found = np.array(world.round_trips_ms[np.ix_(places, places)], dtype=np.float64)
    np.fill_diagonal(found, SAME_PLACE_MS)
    return found
