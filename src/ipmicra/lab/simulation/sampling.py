"""A World and a seed -> the crawlers and the sites: one Draw.

How crawlers are drawn: the continents, in an order the seed decides, take turns; each turn draws one of
the continent's places at random. A place can be drawn when its round trips to all crawlers drawn before
it are known, and at least half as many round trips as of the median place. Where the data have no
continents, all places are one.

How sites are drawn: every home with a single address that is not a crawler's own place is one site, in
random order; where homes are prefixes, a prefix is drawn at random for each site, with replacement, and
an address in it. A site counts only where its round trips to all crawlers are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipmicra.addresses import IPAddress, address_of
from ipmicra.errors import OperatorFault
from ipmicra.lab.world import Home, LatencyNode, Milliseconds, World

KNOWN_OF_MEDIAN_MIN = 0.5
SITES_IN_PREFIXES = 1000


class DrawnSite(NamedTuple):
    """The facts about a site before it is probed."""

    name: str
    address: IPAddress


@dataclass(frozen=True)
class Draw:
    """Crawlers, sites in order of arrival, and the truth about them that only the simulator sees."""

    number: int
    crawlers: tuple[LatencyNode, ...]
    crawler_places: tuple[int, ...]  # indices into the world's places
    mutual_ms: Milliseconds  # crawler by crawler
    sites: tuple[DrawnSite, ...]
    site_places: tuple[int, ...]
    round_trips_ms: Milliseconds  # crawler by site

    @property
    def least_ms(self) -> Milliseconds:
        return np.asarray(self.round_trips_ms.min(axis=0), dtype=np.float64)


def draw_from(
    world: World, seed: int, number: int, crawler_count: int, site_count: int | None = None
) -> Draw:
    """The draw with that number under that seed; the same arguments give the same draw."""
    generator = np.random.default_rng([seed, number])
    return draw_sites(
        world, draw_crawlers(world, crawler_count, generator), generator, number, site_count
    )


def candidates(world: World) -> list[int]:
    """Where a crawler may stand: round trips known well enough, on a continent where there are any."""
    homes = {home.place for home in world.homes}
    known = world.known_share >= KNOWN_OF_MEDIAN_MIN * np.median(world.known_share)
    places = [place for place in sorted(homes) if known[place]]
    on_continents = [place for place in places if world.places[place].continent]
    return on_continents or places


def draw_crawlers(world: World, count: int, generator: np.random.Generator) -> tuple[int, ...]:
    """Places for the crawlers, continents in turn."""
    shuffled = [int(place) for place in generator.permutation(candidates(world))]
    waiting: dict[str, list[int]] = {}
    for place in shuffled:
        waiting.setdefault(world.places[place].continent, []).append(place)
    continents = list(waiting)
    chosen: list[int] = []
    while len(chosen) < count and any(waiting.values()):
        for continent in continents:
            if len(chosen) < count:
                chosen += _next_in(waiting[continent], chosen, world)
    if len(chosen) < count:
        raise OperatorFault(
            f"{world.name}: {count} crawlers were asked for, only {len(chosen)} places with known round"
            " trips to each other were found"
        )
    return tuple(chosen)


def draw_sites(
    world: World,
    crawler_places: tuple[int, ...],
    generator: np.random.Generator,
    number: int = 0,
    site_count: int | None = None,
) -> Draw:
    """Sites for crawlers that stand at these places."""
    to_all = np.asarray(np.isfinite(world.round_trips_ms[list(crawler_places)]).all(axis=0))
    homes = [home for home in world.homes if to_all[home.place]]
    prefixes = [home for home in homes if not home.addresses.is_unary]
    if prefixes:
        drawn = list(_from_prefixes(prefixes, generator, site_count or SITES_IN_PREFIXES))
    else:
        drawn = list(_from_addresses(homes, crawler_places, generator))[:site_count]
    if not drawn:
        raise OperatorFault(f"{world.name}: no site has a known round trip to all {len(crawler_places)}")
    places = tuple(place for _, place in drawn)
    return Draw(
        number=number,
        crawlers=tuple(world.places[place] for place in crawler_places),
        crawler_places=crawler_places,
        mutual_ms=world.round_trips_ms[np.ix_(crawler_places, crawler_places)],
        sites=tuple(site for site, _ in drawn),
        site_places=places,
        round_trips_ms=world.round_trips_ms[np.ix_(crawler_places, places)],
    )


def _next_in(waiting: list[int], chosen: list[int], world: World) -> list[int]:
    """The next place of a continent with known round trips to all chosen; others are dropped."""
    while waiting:
        place = waiting.pop()
        if np.isfinite(world.round_trips_ms[place, chosen]).all():
            return [place]
    return []


def _from_addresses(
    homes: list[Home], crawler_places: tuple[int, ...], generator: np.random.Generator
) -> Iterator[tuple[DrawnSite, int]]:
    others = [home for home in homes if home.place not in crawler_places]
    for number, position in enumerate(generator.permutation(len(others))):
        home = others[position]
        yield _site(number, home.addresses.first_address()), home.place


def _from_prefixes(
    prefixes: list[Home], generator: np.random.Generator, count: int
) -> Iterator[tuple[DrawnSite, int]]:
    for number in range(count):
        home = prefixes[int(generator.integers(len(prefixes)))]
        offset = int(generator.integers(min(home.addresses.size, 1 << 62)))
        yield _site(number, address_of(home.addresses.family, home.addresses.start + offset)), home.place


def _site(number: int, address: IPAddress) -> DrawnSite:
    """A site named by order of arrival, so that its name carries no information."""
    return DrawnSite(f"site-{number}.example", address)
