"""Visits that failed are counted once each, by kind, bounded and aged, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import func, select, update

from ipmicra.carrier.package import Package, pack, unpack
from ipmicra.coordinator.ingest import purge
from ipmicra.coordinator.ingest.integrator import Integrator
from ipmicra.coordinator.store import assignments, failures, hosts
from ipmicra.coordinator.store.failures import DAY_S, DAYS, SITES_A_DAY_MAX
from ipmicra.coordinator.store.package_bytes.file_store import FilePackageStore
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import failure_table, schema_version_table
from ipmicra.model.failures import FailureKind
from ipmicra.model.records import VisitFailed
from ipmicra.protocol.coordinator_api import FailedVisits
from tests.coordinator.ingest.ingest_harness import CLAIM_S, NOW, IntegrationHarness

SITE = "https://bread.example"


@pytest.fixture
def kitchen(database: Database, tmp_path: Path) -> Iterator[IntegrationHarness]:
    kitchen = IntegrationHarness(database, tmp_path)
    yield kitchen
    kitchen.index.close()


def failed(
    path: str, kind: str = "connect", detail: str = "", site: str = SITE, at_s: float = NOW
) -> VisitFailed:
    return VisitFailed(
        url=f"{site}{path}", visit=1, fetched_at_ms=int(1000 * at_s), kind=kind, detail=detail
    )


def send(
    kitchen: IntegrationHarness, *records: VisitFailed, sequence: int = 1, now_s: float = NOW
) -> None:
    kitchen.send(pack(records, "lima", sequence), sequence)
    kitchen.worker().integrate_pending(now_s)


def told(database: Database, now_s: float = NOW) -> dict[str, FailedVisits]:
    with database.read() as connection:
        return {one.kind: one for one in failures.failures(connection, now_s)}


def counts(database: Database, now_s: float = NOW) -> dict[str, int]:
    return {kind: one.count for kind, one in told(database, now_s).items()}


def count(database: Database, *records: VisitFailed, crawler: str = "lima", now_s: float = NOW) -> None:
    """Whatever the records say: that packages are checked before is the carrier's matter."""
    header = unpack(pack([], crawler, 1)).header
    with database.begin() as connection:
        failures.count_failures(connection, Package(header, list(records)), now_s)


def rows(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(failure_table)).scalar_one())


def test_failures_are_counted_by_kind_with_the_newest_of_a_site(kitchen: IntegrationHarness) -> None:
    send(
        kitchen,
        failed("/old", detail="refused", at_s=NOW - 60),
        failed("/new", detail="unreachable", at_s=NOW - 5),
        failed("/old too", detail="refused", at_s=NOW - 30),
        failed("/secret", "status 403"),
    )
    found = told(kitchen.database)
    assert {kind: (one.count, one.sites) for kind, one in found.items()} == {
        "connect": (3, 1),
        "status 403": (1, 1),
    }
    (example,) = found["connect"].examples
    assert msgspec.structs.asdict(example) == {
        "url": f"{SITE}/new", "site": SITE, "crawler": "lima", "at_s": NOW - 5, "detail": "unreachable",
    }  # fmt: skip
    assert found["status 403"].whose == "the operator's"
    send(kitchen, failed("/later"), sequence=2, now_s=NOW + 60)
    assert counts(kitchen.database) == {"connect": 4, "status 403": 1}


def test_a_package_that_comes_twice_counts_once(kitchen: IntegrationHarness) -> None:
    send(kitchen, failed("/a"), failed("/b"))
    assert not kitchen.send(pack([failed("/a"), failed("/b")], "lima", 1)), "it is known"
    assert kitchen.worker().integrate_pending(NOW + CLAIM_S + 1) == 0
    assert counts(kitchen.database) == {"connect": 2}


def test_a_package_that_two_workers_have_counts_once(
    kitchen: IntegrationHarness, tmp_path: Path
) -> None:
    """One waits so long for its file that its claim runs out, and another comes first; then both end."""
    kitchen.send(pack([failed("/a")], "lima", 1))
    quick: list[int] = []

    class SlowStore(FilePackageStore):
        def fetch(self, digest: str) -> bytes:
            quick.append(kitchen.worker("quick").integrate_pending(NOW + CLAIM_S + 1))
            return super().fetch(digest)

    store = SlowStore(tmp_path / "packages")
    slow = Integrator(kitchen.database, store, kitchen.index, "slow", kitchen.settings)
    assert slow.integrate_pending(NOW) == 1
    assert quick == [1], "both had it"
    assert counts(kitchen.database, NOW + CLAIM_S + 2) == {"connect": 1}


def test_what_a_crawler_says_of_others_sites_is_not_counted(kitchen: IntegrationHarness) -> None:
    send(kitchen, failed("/a"), failed("/b", site="https://bank.example"))
    assert counts(kitchen.database) == {"connect": 1}


def test_after_a_week_they_are_forgotten(database: Database) -> None:
    count(database, failed("/a"))
    later_s = NOW + DAYS * DAY_S
    assert counts(database, later_s) == {}
    count(database, failed("/b", "tls"), now_s=later_s)
    assert (rows(database), counts(database, later_s)) == (1, {"tls": 1})


def test_of_a_crawler_with_too_many_sites_the_rest_is_counted_without_names(database: Database) -> None:
    many = SITES_A_DAY_MAX + 50
    records = [failed("/", site=f"https://s{number}.example") for number in range(many)]
    count(database, *records[:100])
    count(database, *records)
    count(database, failed("/", site="https://one-more.example"))
    count(database, failed("/", site="https://o.example"), crawler="oslo")
    (found,) = told(database).values()
    assert (found.count, found.sites) == (100 + many + 2, SITES_A_DAY_MAX + 1)
    assert rows(database) == SITES_A_DAY_MAX + 2


def test_a_purged_crawlers_failures_are_gone_and_no_others(kitchen: IntegrationHarness) -> None:
    send(kitchen, failed("/a"))
    count(kitchen.database, failed("/b", "tls"), crawler="oslo")
    with kitchen.database.begin() as connection:
        purge.request_purge(connection, "lima", "it lied", NOW)
    kitchen.worker().integrate_pending(NOW)
    assert counts(kitchen.database) == {"tls": 1}


def test_hostile_records_are_kept_within_bounds(database: Database) -> None:
    hostile = "\0<script>\u202e" + "x" * 5_000
    count(
        database,
        failed(f"/{hostile}", hostile, hostile, at_s=-1e12),
        failed("/", "status 999", at_s=NOW * 1000),
        failed("/", "status 99999"),
        failed("/", "status ٤٠٣"),
        VisitFailed(url=hostile, visit=-1, fetched_at_ms=2**62, kind="", detail=""),
    )
    found = told(database)
    assert counts(database) == {FailureKind.OTHER: 4, "status 999": 1}
    for example in [example for one in found.values() for example in one.examples]:
        assert len(example.url) <= failures.URL_CHARACTERS_MAX
        assert len(example.detail) <= failures.DETAIL_CHARACTERS_MAX
        assert "\0" not in example.url + example.detail
        assert NOW - DAYS * DAY_S <= example.at_s <= NOW


def test_a_schema_from_before_they_were_counted_is_brought_up(database_address: str) -> None:
    database = Database(database_address)
    with database.begin() as connection:
        failure_table.drop(connection)
        connection.execute(update(schema_version_table).values(version=6))
    database.close()
    database = Database(database_address)
    count(database, failed("/a"))
    assert counts(database) == {"connect": 1}
    database.close()


def test_two_crawlers_of_one_site_are_told_apart(database: Database) -> None:
    with database.begin() as connection:
        for name in ("lima", "oslo"):
            hosts.register(connection, name, name, NOW, 60)
            assignments.record_assignments(connection, [(SITE, name)], NOW)
    count(database, failed("/a"), crawler="lima")
    count(database, failed("/b", at_s=NOW - 1), crawler="oslo")
    (found,) = told(database).values()
    assert (found.count, found.sites) == (2, 1)
    assert [(one.crawler, one.url) for one in found.examples] == [
        ("lima", f"{SITE}/a"),
        ("oslo", f"{SITE}/b"),
    ]
