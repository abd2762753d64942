"""Packages that were acknowledged become pages and sites, once in effect, on both databases."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import zstandard
from sqlalchemy import select

from ipmicra.carrier.format.column_encoder import ColumnEncoder
from ipmicra.carrier.package import MAGIC, Package, PackageHeader, digest_of, pack, unpack
from ipmicra.coordinator.ingest import integrator
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import assignments, events, hosts, packages, sites
from ipmicra.coordinator.store.packages import PackageArrival
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import link_table
from ipmicra.coordinator.views.alerts import alerts
from ipmicra.model.ids import LeaseEpoch
from ipmicra.model.records import PageGone, PageSeen
from ipmicra.model.search import SearchRequest
from ipmicra.testing.page_records import seen
from tests.coordinator.ingest.ingest_harness import CLAIM_S, NOW, PAGE, IntegrationHarness


@pytest.fixture
def kitchen(database: Database, tmp_path: Path) -> Iterator[IntegrationHarness]:
    kitchen = IntegrationHarness(database, tmp_path)
    yield kitchen
    kitchen.index.close()


def test_pages_are_found_and_links_elsewhere_wait_for_a_crawler(kitchen: IntegrationHarness) -> None:
    assert kitchen.send(pack([PAGE], "lima", 1))
    assert kitchen.worker().integrate_pending(NOW) == 1
    assert [hit.url for hit in kitchen.index.search(SearchRequest(text="rye")).hits] == [PAGE.url]
    assert kitchen.found_sites() == {"waiting": 1}
    with kitchen.database.read() as connection:
        row = sites.site_named(connection, "https://cake.example")
    assert row is not None
    assert kitchen.states() == {"integrated": 1}
    assert kitchen.worker().integrate_pending(NOW) == 0


def test_a_worker_that_died_after_the_index_had_it_is_made_up_for(kitchen: IntegrationHarness) -> None:
    data = pack([PAGE], "lima", 1)
    kitchen.send(data)
    with kitchen.database.begin() as connection:
        (claimed,) = packages.claim(connection, "the dead", NOW, CLAIM_S, 1)
    kitchen.index.integrate(unpack(data), claimed.digest)
    assert kitchen.worker().integrate_pending(NOW + 1) == 0, "it is still claimed"
    assert kitchen.worker().integrate_pending(NOW + CLAIM_S + 1) == 1
    assert kitchen.index.page_count() == 1
    assert kitchen.found_sites() == {"waiting": 1}


def test_what_does_not_unpack_is_kept_aside_and_stops_nobody(kitchen: IntegrationHarness) -> None:
    kitchen.send(b"no package at all", 1)
    kitchen.send(pack([PAGE], "somebody-else", 2), 2)
    kitchen.send(pack([PAGE], "lima", 3), 3)
    assert kitchen.worker().integrate_pending(NOW) == 3
    assert kitchen.states() == {"integrated": 1, "refused": 2}


def test_a_package_whose_bytes_are_missing_waits_for_them(kitchen: IntegrationHarness) -> None:
    data = pack([PAGE], "lima", 1)
    kitchen.send(data)
    kitchen.store.discard(digest_of(data))
    kitchen.worker().integrate_pending(NOW)
    assert kitchen.states() == {"kept": 1}
    kitchen.store.keep(digest_of(data), data)
    kitchen.worker().integrate_pending(NOW + CLAIM_S + 1)
    assert kitchen.states() == {"integrated": 1}


def test_two_workers_never_take_the_same(kitchen: IntegrationHarness) -> None:
    for sequence in range(1, 6):
        kitchen.send(pack([PAGE], "lima", sequence), sequence)
    with kitchen.database.begin() as connection:
        first = packages.claim(connection, "a", NOW, CLAIM_S, 3)
    assert len(first) == 3
    assert kitchen.worker("b").integrate_pending(NOW) == 2


# --- whose pages ----------------------------------------------------------------------------------

FOREIGN = seen("https://bank.example/", "Bank", '<p>forged</p><a href="https://mule.example/">go</a>')


def test_pages_of_sites_that_were_never_the_crawlers_are_left_out_with_the_reason(
    kitchen: IntegrationHarness,
) -> None:
    gone = PageGone(url="https://bank.example/a", visit=2, fetched_at_ms=1, status=404)
    kitchen.send(pack([PAGE, FOREIGN, gone], "lima", 1))
    assert kitchen.worker().integrate_pending(NOW) == 1
    assert kitchen.states() == {"integrated": 1}
    assert kitchen.reason(1) == (
        "2 records left out: never given to lima under lease 0: https://bank.example"
    )
    assert kitchen.index.search(SearchRequest(text="forged")).hits == []
    assert [hit.url for hit in kitchen.index.search(SearchRequest(text="rye")).hits] == [PAGE.url]
    assert kitchen.found_sites() == {"waiting": 1}, "and its links are nobody's to follow"


def test_a_package_of_foreign_pages_alone_is_refused_and_kept(kitchen: IntegrationHarness) -> None:
    data = pack([FOREIGN], "lima", 1)
    kitchen.send(data)
    kitchen.worker().integrate_pending(NOW)
    assert kitchen.states() == {"refused": 1}
    assert "never given to lima" in kitchen.reason(1)
    assert kitchen.store.fetch(digest_of(data)) == data


def test_a_page_that_says_it_is_anothers_is_left_out(kitchen: IntegrationHarness) -> None:
    posing = PageSeen(
        url="https://bread.example/x",
        visit=1,
        fetched_at_ms=1,
        page=msgspec.structs.replace(FOREIGN.page, url="https://bank.example/"),
    )
    kitchen.send(pack([PAGE, posing], "lima", 1))
    kitchen.worker().integrate_pending(NOW)
    assert kitchen.index.search(SearchRequest(text="forged")).hits == []
    assert kitchen.reason(1).startswith("1 records left out")


def test_what_was_the_crawlers_under_an_earlier_lease_counts_for_that_lease_only(
    kitchen: IntegrationHarness,
) -> None:
    kitchen.send(pack([PAGE], "lima", 1), 1)
    with kitchen.database.begin() as connection:
        hosts.renew_lease(connection, "lima", NOW, 1)
        assert hosts.expire_leases(connection, NOW + 2) == ["lima"]
        assignments.delete_ended(connection, "lima")
    kitchen.send(pack([PAGE], "lima", 2), 2, epoch=1)
    kitchen.worker().integrate_pending(NOW + 3)
    assert kitchen.reason(1) == "", "acknowledged under the lease that it had the site in"
    assert "under lease 1" in kitchen.reason(2)
    with kitchen.database.begin() as connection:
        assignments.record_assignments(connection, [("https://bread.example", "lima")], NOW)
        hosts.renew_lease(connection, "lima", NOW, 1)
        assert hosts.expire_leases(connection, NOW + 2) == ["lima"]
        assignments.delete_ended(connection, "lima")
        site = ["https://bread.example"]
        assert assignments.unassigned_sites(connection, "lima", LeaseEpoch(0), site) == set(), (
            "an index may be made anew"
        )
        assert assignments.unassigned_sites(connection, "lima", LeaseEpoch(1), site) == set(site), (
            "no package can need it"
        )


# --- packages that were made to hurt ------------------------------------------------------------------

TOO_LARGE = 1 << 63
OTHER = seen("https://bread.example/other", "Other", "<p>spelt</p>")


@pytest.mark.parametrize(
    "poison",
    [
        pytest.param({"visit": TOO_LARGE}, id="visit"),
        pytest.param({"fetched_at_ms": TOO_LARGE}, id="fetched"),
        pytest.param({"fetched_at_ms": -1}, id="before time"),
        pytest.param({"status": TOO_LARGE}, id="status"),
    ],
)
def test_a_value_that_no_database_holds_refuses_its_package_alone(
    kitchen: IntegrationHarness, poison: dict[str, int]
) -> None:
    kitchen.send(pack([msgspec.structs.replace(PAGE, **poison)], "lima", 1), 1)
    kitchen.send(pack([OTHER], "lima", 2), 2)
    assert kitchen.worker().integrate_pending(NOW) == 2
    assert kitchen.states() == {"integrated": 1, "refused": 1}
    (name,) = poison
    assert name in kitchen.reason(1)
    assert [hit.url for hit in kitchen.index.search(SearchRequest(text="spelt")).hits] == [OTHER.url]


@pytest.mark.parametrize("field", ["modified_at_s", "published_at_s", "body_bytes"])
def test_a_page_whose_values_no_engine_holds_stops_nobody(
    kitchen: IntegrationHarness, field: str
) -> None:
    page = msgspec.structs.replace(PAGE.page, **{field: TOO_LARGE})
    kitchen.send(pack([msgspec.structs.replace(PAGE, page=page)], "lima", 1), 1)
    kitchen.send(pack([OTHER], "lima", 2), 2)
    kitchen.worker().integrate_pending(NOW)
    assert kitchen.states() == {"integrated": 1, "refused": 1}
    kitchen.send(pack([OTHER], "lima", 3), 3)
    kitchen.worker().integrate_pending(NOW)
    assert kitchen.states() == {"integrated": 2, "refused": 1}


def test_a_page_that_only_the_engine_refuses_is_left_out_and_named(
    kitchen: IntegrationHarness, caplog: pytest.LogCaptureFixture
) -> None:
    page = msgspec.structs.replace(PAGE.page, modified_at_s=TOO_LARGE)
    poison = unpack(pack([PAGE], "lima", 1))
    poison = poison._replace(records=[msgspec.structs.replace(PAGE, page=page)])
    kitchen.index.integrate(poison, "digest")
    kitchen.send(pack([OTHER], "lima", 2), 2)
    kitchen.worker().integrate_pending(NOW)
    assert [hit.url for hit in kitchen.index.search(SearchRequest(text="spelt")).hits] == [OTHER.url]
    (told,) = [record for record in caplog.records if record.message == "a page cannot be indexed"]
    assert vars(told)["url"] == PAGE.url


def test_a_defect_that_one_package_finds_is_named_and_stops_no_other(
    kitchen: IntegrationHarness, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    integrate = kitchen.index.integrate

    def fail_at_the_first(package: Package, digest: str) -> int:
        if package.header.sequence == 1:
            raise KeyError("a defect")
        return integrate(package, digest)

    monkeypatch.setattr(kitchen.index, "integrate", fail_at_the_first)
    for sequence in (1, 2):
        kitchen.send(pack([OTHER], "lima", sequence), sequence)
    assert kitchen.worker().integrate_pending(NOW) == 2
    assert kitchen.states() == {"integrated": 1, "refused": 1}
    assert "KeyError" in kitchen.reason(1)
    (told,) = [record for record in caplog.records if record.message == "a package stopped integration"]
    assert (vars(told)["crawler"], vars(told)["sequence"]) == ("lima", 1)


def test_a_clock_that_is_ahead_wins_against_nobody(kitchen: IntegrationHarness) -> None:
    year_ms = 365 * 86_400_000
    ahead = msgspec.structs.replace(PAGE, fetched_at_ms=int(NOW * 1000) + year_ms)
    kitchen.send(pack([ahead], "lima", 1), 1)
    kitchen.worker().integrate_pending(NOW)
    with kitchen.database.begin() as connection:
        hosts.register(connection, "oslo", "second", NOW, 60)
        hosts.enrol(connection, "second", bytes([1] * 32), "192.0.2.2", NOW)
        assignments.record_assignments(connection, [("https://bread.example", "oslo")], NOW)
    later = seen(PAGE.url, "Bread", "<p>barley</p>")
    later = msgspec.structs.replace(later, fetched_at_ms=int(NOW * 1000) + 5_000)
    data = pack([later], "oslo", 1)
    packages.receive(
        kitchen.database,
        kitchen.store,
        PackageArrival("oslo", 1, digest_of(data), LeaseEpoch(0), data),
        NOW,
    )
    kitchen.worker().integrate_pending(NOW + 10)
    assert [hit.crawler for hit in kitchen.index.search(SearchRequest(text="barley")).hits] == ["oslo"]


def test_a_page_among_the_other_records_is_refused(kitchen: IntegrationHarness) -> None:
    """It would bring its own content hash, that of the true page, and compare as the same."""
    layout = ColumnEncoder()
    body = msgspec.msgpack.encode(layout.columns([PAGE]))
    kitchen.send(framed(body, records=1), 1)
    kitchen.worker().integrate_pending(NOW)
    assert kitchen.states() == {"refused": 1}
    assert "among the other records" in kitchen.reason(1)


def framed(body: bytes, records: int) -> bytes:
    """A package that holds whatever its sender likes."""
    frame = zstandard.ZstdCompressor().compress(body)
    header = PackageHeader(
        crawler="lima",
        sequence=1,
        records=records,
        inflated_bytes=len(body),
        frame_crc=zlib.crc32(frame),
    )
    head = msgspec.msgpack.encode(header)
    return MAGIC + len(head).to_bytes(4, "little") + head + frame


def test_a_flood_of_links_is_cut(kitchen: IntegrationHarness) -> None:
    kitchen.settings = CoordinatorSettings(new_sites_per_package_max=7)
    links = "".join(f'<a href="https://s{number}.example/">x</a>' for number in range(50))
    kitchen.send(pack([seen(PAGE.url, "Flood", links)], "lima", 1), 1)
    kitchen.worker().integrate_pending(NOW)
    assert kitchen.found_sites() == {"waiting": 7}
    with kitchen.database.read() as connection:
        (event,) = events.latest(connection, 1)
        (alert,) = [one for one in alerts(connection, NOW) if one.kind == "links-dropped"]
    assert (event.kind, event.subject) == ("links-dropped", "lima")
    assert event.detail.startswith("43 links left out")
    assert (alert.count, alert.examples) == (43, ["host lima", "site https://bread.example"])


def test_links_of_one_package_are_cut(kitchen: IntegrationHarness) -> None:
    kitchen.settings = CoordinatorSettings(links_per_package_max=5)
    links = "".join(f'<a href="https://s.example/{number}">x</a>' for number in range(50))
    kitchen.send(pack([seen(PAGE.url, "Flood", links)], "lima", 1), 1)
    kitchen.worker().integrate_pending(NOW)
    with kitchen.database.read() as connection:
        assert len(connection.execute(select(link_table)).all()) == 5


def test_a_defect_while_reading_one_package_stops_no_other(
    kitchen: IntegrationHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison = pack([PAGE], "lima", 1)

    def fail_at_the_first(data: bytes) -> Package:
        if data == poison:
            raise RecursionError("a defect")
        return unpack(data)

    monkeypatch.setattr(integrator, "unpack", fail_at_the_first)
    kitchen.send(poison, 1)
    kitchen.send(pack([OTHER], "lima", 2), 2)
    assert kitchen.worker().integrate_pending(NOW) == 2
    assert kitchen.states() == {"integrated": 1, "refused": 1}
    assert "RecursionError" in kitchen.reason(1)
