"""Packages that were acknowledged become pages and sites, once in effect, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import select

from ipmicra.carrier.package import digest_of, pack, unpack
from ipmicra.coordinator.ingest.integrator import Integrator
from ipmicra.coordinator.store import assignments, hosts, packages, sites
from ipmicra.coordinator.store.database import Database
from ipmicra.coordinator.store.package_files import FilePackageStore
from ipmicra.coordinator.store.packages import PackageArrival
from ipmicra.coordinator.store.schema import package
from ipmicra.model.records import PageGone, PageSeen
from ipmicra.search.contract import SearchRequest
from ipmicra.search.tantivy.index import TantivyIndex
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
            assignments.note(connection, [("https://bread.example", "lima")], NOW)

    def worker(self, name: str = "worker") -> Integrator:
        return Integrator(self.database, self.store, self.index, name, CLAIM_S)

    def send(self, data: bytes, sequence: int = 1, epoch: int = 0) -> bool:
        arrival = PackageArrival("lima", sequence, digest_of(data), epoch, data)
        return packages.receive(self.database, self.store, arrival, NOW)

    def states(self) -> dict[str, int]:
        with self.database.read() as connection:
            return packages.counts(connection)

    def reason(self, sequence: int) -> str:
        with self.database.read() as connection:
            query = select(package.c.reason).where(package.c.sequence == sequence)
            return str(connection.execute(query).scalar_one())

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
    assert [hit.url for hit in kitchen.index.search(SearchRequest(text="rye")).hits] == [PAGE.url]
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


# --- whose pages ----------------------------------------------------------------------------------

FOREIGN = seen("https://bank.example/", "Bank", '<p>forged</p><a href="https://mule.example/">go</a>')


def test_pages_of_sites_that_were_never_the_crawlers_are_left_out_with_the_reason(
    kitchen: Kitchen,
) -> None:
    gone = PageGone(url="https://bank.example/a", visit=2, fetched_at_ms=1, status=404)
    kitchen.send(pack([PAGE, FOREIGN, gone], "lima", 1))
    assert kitchen.worker().work(NOW) == 1
    assert kitchen.states() == {"integrated": 1}
    assert kitchen.reason(1) == (
        "2 records left out: never given to lima under lease 0: https://bank.example"
    )
    assert kitchen.index.search(SearchRequest(text="forged")).hits == []
    assert [hit.url for hit in kitchen.index.search(SearchRequest(text="rye")).hits] == [PAGE.url]
    assert kitchen.found_sites() == {"waiting": 1}, "and its links are nobody's to follow"


def test_a_package_of_foreign_pages_alone_is_refused_and_kept(kitchen: Kitchen) -> None:
    data = pack([FOREIGN], "lima", 1)
    kitchen.send(data)
    kitchen.worker().work(NOW)
    assert kitchen.states() == {"refused": 1}
    assert "never given to lima" in kitchen.reason(1)
    assert kitchen.store.fetch(digest_of(data)) == data


def test_a_page_that_says_it_is_anothers_is_left_out(kitchen: Kitchen) -> None:
    posing = PageSeen(
        url="https://bread.example/x",
        visit=1,
        fetched_at_ms=1,
        page=msgspec.structs.replace(FOREIGN.page, url="https://bank.example/"),
    )
    kitchen.send(pack([PAGE, posing], "lima", 1))
    kitchen.worker().work(NOW)
    assert kitchen.index.search(SearchRequest(text="forged")).hits == []
    assert kitchen.reason(1).startswith("1 records left out")


def test_what_was_the_crawlers_under_an_earlier_lease_counts_for_that_lease_only(
    kitchen: Kitchen,
) -> None:
    kitchen.send(pack([PAGE], "lima", 1), 1)
    with kitchen.database.begin() as connection:
        hosts.renew_lease(connection, "lima", NOW, 1)
        assert hosts.expire_leases(connection, NOW + 2) == ["lima"]
        assignments.forget_ended(connection, "lima")
    kitchen.send(pack([PAGE], "lima", 2), 2, epoch=1)
    kitchen.worker().work(NOW + 3)
    assert kitchen.reason(1) == "", "acknowledged under the lease that it had the site in"
    assert "under lease 1" in kitchen.reason(2)
    with kitchen.database.begin() as connection:
        assignments.forget_ended(connection, "lima")
        assert assignments.foreign(connection, "lima", 0, [PAGE.url[:-1]]) == {"https://bread.example"}
