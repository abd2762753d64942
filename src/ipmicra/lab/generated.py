"""A seed -> a generated Internet: a World, and what its registries say of it. No data needed.

Continents, countries and cities lie on a sphere. Hosts stand in cities, the larger ones more often, each
behind an access link. A round trip is light's time in fibre along the great circle, times an inflation
that belongs to the pair of cities, plus both access links. Organisations stand in one city, in one
country, or everywhere; their registry gives each a block of addresses, and says the home country of it;
most of the /24s in a block are registered too, three in twenty with the wrong country.

Country codes are those that ISO 3166 leaves to users (XA, XB, ...): no table of real countries fits them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipmicra.addresses import AddressRange, address_of
from ipmicra.hierarchy.allocation import Allocation, Allocations
from ipmicra.lab.world import LatencyNode, Milliseconds, World, homes_of_single_addresses

Points = NDArray[np.float64]  # unit vectors, one per row

CONTINENTS = ("AF", "AS", "EU", "NA", "OC", "SA")
COUNTRIES_PER_CONTINENT = 5
CITIES_PER_COUNTRY = 5
EARTH_RADIUS_KM = 6371.0
KM_PER_MS = 100.0  # of round trip: light runs 200 km a ms in fibre, there and back
INFLATION_LEAST = 1.2
INFLATION_SPREAD = 0.25
ACCESS_MS = (0.1, 1.5)  # least, and the mean of what is added to it
ORGANISATION_KINDS = ("city", "country", "everywhere")
ORGANISATION_SHARES = (0.7, 0.2, 0.1)
HOSTS_PER_ORGANISATION = 3
WRONG_COUNTRY_SHARE = 0.15
NESTED_SHARE = 0.8
FIRST_BLOCK = AddressRange.parse("20.0.0.0/20")


class Cities(NamedTuple):
    """Column by column: where each city lies, its country (a number), and its share of the hosts."""

    points: Points
    country: NDArray[np.int64]
    share: NDArray[np.float64]


@dataclass(frozen=True)
class Generated:
    """A world and the allocations that its registries publish."""

    world: World
    allocations: Allocations


def generate(seed: int, host_count: int = 400) -> Generated:
    """The world of that seed."""
    generator = np.random.default_rng([seed, host_count])
    cities = _cities(generator)
    host_city = generator.choice(len(cities.country), size=host_count, p=cities.share)
    registry = _Registry(cities, generator, 1 + host_count // HOSTS_PER_ORGANISATION)
    places = tuple(_place(number, int(city), cities, registry) for number, city in enumerate(host_city))
    round_trips_ms = _round_trips(cities, host_city, generator)
    world = World(f"generated-{seed}", places, homes_of_single_addresses(places), round_trips_ms)
    return Generated(world, registry.allocations)


def country_code(number: int) -> str:
    """XA to XZ, then QM to QZ."""
    return f"X{chr(65 + number)}" if number < 26 else f"Q{chr(77 + number - 26)}"


def _cities(generator: np.random.Generator) -> Cities:
    continents = _around(np.zeros((len(CONTINENTS), 3)), 1.0, generator)
    countries = _around(np.repeat(continents, COUNTRIES_PER_CONTINENT, axis=0), 0.25, generator)
    points = _around(np.repeat(countries, CITIES_PER_COUNTRY, axis=0), 0.05, generator)
    size = generator.pareto(1.2, len(points)) + 0.2
    return Cities(points, np.arange(len(points)) // CITIES_PER_COUNTRY, size / size.sum())


def _around(centres: Points, spread: float, generator: np.random.Generator) -> Points:
    points = centres + generator.normal(0.0, spread, centres.shape)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), dtype=np.float64)


def _round_trips(
    cities: Cities, host_city: NDArray[np.int64], generator: np.random.Generator
) -> Milliseconds:
    cosines = np.clip(cities.points @ cities.points.T, -1.0, 1.0)
    distance_km = EARTH_RADIUS_KM * np.arccos(np.triu(cosines) + np.triu(cosines, 1).T)
    one_sided = generator.gamma(2.0, INFLATION_SPREAD, distance_km.shape)
    inflation = INFLATION_LEAST + np.triu(one_sided) + np.triu(one_sided, 1).T
    min_sum_ms = inflation * distance_km / KM_PER_MS
    least_ms, mean_ms = ACCESS_MS
    access_ms = least_ms + generator.exponential(mean_ms, len(host_city))
    round_trips_ms = min_sum_ms[np.ix_(host_city, host_city)] + np.add.outer(access_ms, access_ms)
    np.fill_diagonal(round_trips_ms, 0.0)
    return np.asarray(round_trips_ms, dtype=np.float64)


def _place(number: int, city: int, cities: Cities, registry: _Registry) -> LatencyNode:
    x, y, z = cities.points[city]
    country = int(cities.country[city])
    return LatencyNode(
        name=str(number),
        address=address_of(4, registry.address_in(city)),
        country=country_code(country),
        continent=CONTINENTS[country // COUNTRIES_PER_CONTINENT],
        latitude=float(np.degrees(np.arcsin(z))),
        longitude=float(np.degrees(np.arctan2(y, x))),
    )


class _Registry:
    """Gives addresses to hosts: a /20 to each organisation, a /24 of it to each of its cities."""

    def __init__(self, cities: Cities, generator: np.random.Generator, organisations: int) -> None:
        self.allocations = Allocations()
        self._cities = cities
        self._generator = generator
        self._home = generator.choice(len(cities.country), size=organisations, p=cities.share)
        self._kind = generator.choice(len(ORGANISATION_KINDS), size=organisations, p=ORGANISATION_SHARES)
        self._blocks_given = 0
        self._free: dict[int, list[AddressRange]] = {}  # organisation -> /24s not yet in any city
        self._subnets: dict[tuple[int, int], AddressRange] = {}  # organisation, city -> its /24
        self._used: dict[AddressRange, int] = {}

    def address_in(self, city: int) -> int:
        """The address of a new host in a city, of an organisation that is there."""
        organisation = int(self._generator.choice(self._present(city)))
        subnet = self._subnet(organisation, city)
        self._used[subnet] = self._used.get(subnet, 0) + 1
        return subnet.start + self._used[subnet] % subnet.size

    def _present(self, city: int) -> NDArray[np.int64]:
        """Organisations that stand in a city; where there are none, those that stand everywhere, or all."""
        country = self._cities.country
        in_city = (self._kind == 0) & (self._home == city)
        in_country = (self._kind == 1) & (country[self._home] == country[city])
        present = np.flatnonzero(in_city | in_country | (self._kind == 2))
        return present if len(present) else np.arange(len(self._home))

    def _subnet(self, organisation: int, city: int) -> AddressRange:
        if (organisation, city) not in self._subnets:
            if not self._free.get(organisation):
                self._free[organisation] = self._give_block(organisation)
            subnet = self._free[organisation].pop(0)
            self._subnets[organisation, city] = subnet
            if self._generator.random() < NESTED_SHARE:
                self._register(subnet, organisation, self._said_country(organisation, city), "assigned")
        return self._subnets[organisation, city]

    def _give_block(self, organisation: int) -> list[AddressRange]:
        start = FIRST_BLOCK.start + self._blocks_given * FIRST_BLOCK.size
        self._blocks_given += 1
        home_country = int(self._cities.country[self._home[organisation]])
        block = AddressRange(4, start, start + FIRST_BLOCK.size)
        self._register(block, organisation, home_country, "allocated")
        return [AddressRange(4, first, first + 256) for first in range(block.start, block.end, 256)]

    def _said_country(self, organisation: int, city: int) -> int:
        wrong = self._generator.random() < WRONG_COUNTRY_SHARE
        return int(self._cities.country[self._home[organisation] if wrong else city])

    def _register(self, place: AddressRange, organisation: int, country: int, status: str) -> None:
        self.allocations.append(
            Allocation(
                place,
                handle=f"ORG-{organisation}",
                name=f"Organisation {organisation}",
                country=country_code(country),
                registry=CONTINENTS[country // COUNTRIES_PER_CONTINENT],
                status=status,
                asn=64512 + organisation,
            )
        )
