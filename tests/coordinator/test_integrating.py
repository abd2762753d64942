"""Packages that were acknowledged become pages and sites, once in effect, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ipmicra.carrier.package import digest_of, pack, unpack
from ipmicra.coordinator import hosts, packages, sites
from ipmicra.coordinator.integrating import Integrator
from ipmicra.coordinator.package_stores import FilePackageStore
from ipmicra.coordinator.packages import Arrival
from ipmicra.coordinator.state.database import Database
from ipmicra.search.contract import Request
from ipmicra.search.tantivy_index import TantivyIndex
from tests.search.worlds import seen

NOW = 1_800_000_000.0
CLAIM_S = 60.0
PAGE = seen(
    "https://bread.example/",
    "Bread",
    '<p>rye</p><a href="/own">own</a><a href="https://cake.example/a#top">cake</a>'
    '<a href="https://shy.example/" rel="nofollow">shy</a><a href="mailto:baker@bread.example">mail</a>',
)


class Kitchen:
    """A database, a store, an index and a host that sends packages."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database = database
        self.store = FilePackageStore(folder / "packages")
        self.index = TantivyIndex(folder / "index", writable=True)
        with database.begin() as connection:
            hosts.register(connection, "lima", "token", NOW, 60)
            hosts.enrol(connection, "token", bytes(32), "192.0.2.1", NOW)

    def worker(self, name: str = "worker") -> Integrator:
        return Integrator(self.database, self.store, self.index, name, CLAIM_S)

    def send(self, data: bytes, sequence: int = 1) -> bool:
        arrival = Arrival("lima", sequence, digest_of(data), 0, data)
        return packages.receive(self.database, self.store, arrival, NOW)

    def states(self) -> dict[str, int]:
        with self.database.read() as connection:
            return packages.counts(connection)

    def found_sites(self) -> dict[str, int]:
        with self.database.read() as connection:
            return sites.counts(connection)


@pytest.fixture
def kitchen(database: Database, tmp_path: Path) -> Iterator[Kitchen]:
    kitchen = Kitchen(database, tmp_path)
    yield kitchen
    kitchen.index.close()


def test_pages_are_found_and_links_elsewhere_wait_for_a_crawler(kitchen: Kitchen) -> None:
    assert kitchen.send(pack([PAGE], "lima", 1))
    assert kitchen.worker().work(NOW) == 1
    assert [hit.url for hit in kitchen.index.search(Request(text="rye")).hits] == [PAGE.url]
    assert kitchen.found_sites() == {"waiting": 1}
    with kitchen.database.read() as connection:
        row = sites.site_named(connection, "https://cake.example")
    assert row is not None
    assert kitchen.states() == {"integrated": 1}
    assert kitchen.worker().work(NOW) == 0


def test_a_worker_that_died_after_the_index_had_it_is_made_up_for(kitchen: Kitchen) -> None:
    data = pack([PAGE], "lima", 1)
    kitchen.send(data)
    with kitchen.database.begin() as connection:
        (claimed,) = packages.claim(connection, "the dead", NOW, CLAIM_S, 1)
    kitchen.index.integrate(unpack(data), claimed.digest)
    assert kitchen.worker().work(NOW + 1) == 0, "it is still claimed"
    assert kitchen.worker().work(NOW + CLAIM_S + 1) == 1
    assert kitchen.index.page_count() == 1
    assert kitchen.found_sites() == {"waiting": 1}


def test_what_does_not_unpack_is_kept_aside_and_stops_nobody(kitchen: Kitchen) -> None:
    kitchen.send(b"no package at all", 1)
    kitchen.send(pack([PAGE], "somebody-else", 2), 2)
    kitchen.send(pack([PAGE], "lima", 3), 3)
    assert kitchen.worker().work(NOW) == 3
    assert kitchen.states() == {"integrated": 1, "refused": 2}


def test_a_package_whose_bytes_are_missing_waits_for_them(kitchen: Kitchen) -> None:
    data = pack([PAGE], "lima", 1)
    kitchen.send(data)
    kitchen.store.discard(digest_of(data))
    kitchen.worker().work(NOW)
    assert kitchen.states() == {"kept": 1}
    kitchen.store.keep(digest_of(data), data)
    kitchen.worker().work(NOW + CLAIM_S + 1)
    assert kitchen.states() == {"integrated": 1}


def test_two_workers_never_take_the_same(kitchen: Kitchen) -> None:
    for sequence in range(1, 6):
        kitchen.send(pack([PAGE], "lima", sequence), sequence)
    with kitchen.database.begin() as connection:
        first = packages.claim(connection, "a", NOW, CLAIM_S, 3)
    assert len(first) == 3
    assert kitchen.worker("b").work(NOW) == 2
