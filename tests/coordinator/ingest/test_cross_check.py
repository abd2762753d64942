"""A share of pages is seen by another host, canary pages are checked, and a host that lies is revoked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection

from ipmicra.carrier.package import pack, unpack
from ipmicra.carrier.page_delta import base_digest, delta_of
from ipmicra.coordinator.ingest import cross_check
from ipmicra.coordinator.ingest.integrator import Integrator
from ipmicra.coordinator.settings import CoordinatorSettings, KnownPage
from ipmicra.coordinator.store import events, hosts, orders
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.model.records import PageSeen
from ipmicra.protocol.host_messages import ObservePages, OrderDone, PageObservation
from ipmicra.testing.page_records import seen
from tests.coordinator.ingest.ingest_harness import NOW, PAGE, IntegrationHarness

LEASE_S = 1e6
TEXT = " ".join(f"word{number} of the true page" for number in range(60))
TRUE = seen("https://bread.example/long", "Long", f"<p>{TEXT}</p>")
FALSE = seen("https://bread.example/long", "Long", "<p>" + " ".join(f"buy {n} pills" for n in range(90)))
PAGES = [
    seen(f"https://bread.example/{number}", "Long", f"<p>{number} {TEXT}</p>") for number in range(4)
]


ELSEWHERE = {
    name: f"{first}.8.8.8" for first, name in enumerate(("oslo", "kobe", "rome", "bonn", "lagos"), 8)
}
SITES = [f"https://s{number}.example" for number in range(12)]


@pytest.fixture
def kitchen(database: Database, tmp_path: Path) -> Iterator[IntegrationHarness]:
    """Cuzco sends pages; five hosts are elsewhere, its neighbour is not, and lima is silent."""
    kitchen = IntegrationHarness(database, tmp_path)
    addresses = {**ELSEWHERE, "next-door": "1.1.1.2", "cuzco": "1.1.1.1"}
    with database.begin() as connection:
        for number, (name, address) in enumerate(addresses.items()):
            hosts.register(connection, name, name, NOW, 60)
            hosts.enrol(connection, name, bytes([number + 1] * 32), address, NOW)
    yield kitchen
    kitchen.index.close()


class Court:
    """A coordinator that asks, and hosts that see what the test says."""

    def __init__(self, connection: Connection, revokes: bool = True) -> None:
        self.connection, self.now, self.revokes = connection, NOW, revokes
        self._wake()

    def _wake(self) -> None:
        for host in hosts.all_hosts(self.connection):
            if host.name != "lima" and host.state is hosts.HostState.ENROLLED:
                hosts.renew_lease(self.connection, host.name, self.now, LEASE_S)
                hosts.save_report(self.connection, host.name, {"awake": True})

    def asked(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for host in hosts.all_hosts(self.connection):
            for order in orders.open_orders(self.connection, host.name, self.now):
                assert isinstance(order.body, ObservePages)
                found[host.name] = (*found.get(host.name, ()), *order.body.urls)
        return found

    def send(self, *records: PageSeen, crawler: str = "cuzco", share: float = 1.0) -> None:
        package = unpack(pack(list(records), crawler, 1))
        cross_check.select_pages(self.connection, package, share, self.now)

    def compare(
        self, url: str, sent: PageSeen, see: Callable[[str], PageSeen], by: str = "cuzco"
    ) -> int:
        """Send a page; each asked host sees what `see` says. Returns the number of observations."""
        page = msgspec.structs.replace(sent.page, url=url)
        now_ms = int(self.now * 1000)
        self.send(msgspec.structs.replace(sent, url=url, page=page, fetched_at_ms=now_ms), crawler=by)
        looks = 0
        while cross_check.is_anything_pending(self.connection):
            self.now += cross_check.CONTROL_SECONDS_MIN + 1
            cross_check.send_checks(self.connection, self.now)
            for witness in self.asked():
                looks += self._look(witness, url, see(witness))
        return looks

    def _look(self, witness: str, url: str, record: PageSeen) -> int:
        (order,) = orders.open_orders(self.connection, witness, self.now)
        done = OrderDone(number=order.number, looks=(look_of(record, url),))
        orders.close(self.connection, witness, done, self.now)
        body = ObservePages(urls=(url,))
        cross_check.on_pages_observed(self.connection, witness, body, done, self.now, self.revokes)
        return 1

    def happened(self, kind: str) -> list[str]:
        latest = events.latest(self.connection, 200)
        return [event.subject for event in latest if event.kind == kind]

    def revoked(self) -> set[str]:
        everybody = hosts.all_hosts(self.connection)
        return {host.name for host in everybody if host.state is hosts.HostState.REVOKED}


def look_of(record: PageSeen, url: str) -> PageObservation:
    page = record.page
    return PageObservation(
        url=url, content_hash=page.content_hash.hex(), similarity_hash=page.similarity_hash
    )


def words(number: int) -> PageSeen:
    """A page that has nothing in common with that of another number."""
    text = " ".join(f"{number}x{at * number} quite{number + at} other" for at in range(80))
    return seen("https://bread.example/long", f"Page {number}", f"<p>{text}</p>")


def test_a_page_is_seen_by_a_host_in_another_network(kitchen: IntegrationHarness) -> None:
    with kitchen.database.begin() as connection:
        court = Court(connection)
        court.send(*PAGES)
        cross_check.send_checks(connection, NOW)
        witnesses = court.asked()
        cross_check.send_checks(connection, NOW)
        assert court.asked() == witnesses, "each is asked for once"
    assert set(witnesses) <= set(ELSEWHERE)
    assert sorted(url for urls in witnesses.values() for url in urls) == [page.url for page in PAGES]


def test_without_a_share_nothing_is_seen_twice(kitchen: IntegrationHarness) -> None:
    with kitchen.database.begin() as connection:
        court = Court(connection)
        court.send(*PAGES, share=0.0)
        cross_check.send_checks(connection, NOW)
        assert court.asked() == {}


def test_a_crawler_that_several_hosts_contradict_loses_its_standing(kitchen: IntegrationHarness) -> None:
    with kitchen.database.begin() as connection:
        court = Court(connection)
        for site in SITES:
            court.compare(f"{site}/a", FALSE, lambda _: TRUE)
            if court.revoked():
                break
        assert court.revoked() == {"cuzco"}
        assert court.happened("distrusted") == ["cuzco"]
        assert 3 <= len(court.happened("contradicted")) <= 9


def test_where_the_operator_decides_a_liar_is_only_reported(kitchen: IntegrationHarness) -> None:
    with kitchen.database.begin() as connection:
        court = Court(connection, revokes=False)
        for site in SITES:
            court.compare(f"{site}/a", FALSE, lambda _: TRUE)
        assert court.revoked() == set()
        assert court.happened("suspected") == ["cuzco"]


def test_no_site_alone_dismisses_anybody(kitchen: IntegrationHarness) -> None:
    with kitchen.database.begin() as connection:
        court = Court(connection)
        for number in range(16):
            court.compare(f"{SITES[number % 2]}/{number}", FALSE, lambda _: TRUE)
        assert len(court.happened("contradicted")) == 16
        assert court.revoked() == set()


def test_no_two_hosts_alone_dismiss_anybody(kitchen: IntegrationHarness) -> None:
    """Two hosts lie alike about all others."""
    liars = {"oslo", "kobe"}
    with kitchen.database.begin() as connection:
        court = Court(connection)
        for number in range(20):
            site = f"https://t{number}.example/"
            court.compare(site, TRUE, lambda witness: FALSE if witness in liars else TRUE)
        assert court.revoked() <= liars
        assert court.happened("contradicted") == []


def test_two_hosts_where_there_are_no_more_dismiss_nobody(kitchen: IntegrationHarness) -> None:
    with kitchen.database.begin() as connection:
        court = Court(connection)
        for name in list(ELSEWHERE)[2:]:
            hosts.end_host(connection, name, hosts.HostState.LEFT)
        for site in SITES[:4]:
            court.compare(f"{site}/a", TRUE, lambda _: FALSE)
        assert court.revoked() == set()
        assert set(court.happened("suspected")) == {"cuzco"}


def test_a_page_that_changes_with_each_request_contradicts_nobody(kitchen: IntegrationHarness) -> None:
    numbers = iter(range(1, 1_000))
    with kitchen.database.begin() as connection:
        court = Court(connection)
        for site in SITES[:6]:
            looks = court.compare(f"{site}/a", words(next(numbers)), lambda _: words(next(numbers)))
            assert looks == 3, "a dynamic page costs no more requests than that"
        assert court.revoked() == set()
        assert court.happened("contradicted") == []


def test_a_page_that_changed_and_changes_again_contradicts_nobody(kitchen: IntegrationHarness) -> None:
    """All see the same other page, but the control look sees yet another one."""
    with kitchen.database.begin() as connection:
        court = Court(connection)
        for site in SITES[:4]:
            begun = court.now

            def see(_: str, begun: float = begun) -> PageSeen:
                return words(1 + int((court.now - begun) // 24))

            court.compare(f"{site}/a", words(99), see)
        assert court.happened("contradicted") == []


def test_an_honest_crawler_keeps_its_standing_though_pages_change_a_little(
    kitchen: IntegrationHarness,
) -> None:
    changed = seen("https://bread.example/long", "Long", f"<p>{TEXT} and a line that is new</p>")
    with kitchen.database.begin() as connection:
        court = Court(connection)
        for site in SITES[:4]:
            court.compare(f"{site}/a", TRUE, lambda _: changed)
        assert court.happened("contradicted") == []


def test_a_page_sent_as_a_delta_is_compared_whole(kitchen: IntegrationHarness) -> None:
    old = seen("https://bread.example/long", "Long", f"<p>{TEXT}</p>")
    new = seen("https://bread.example/long", "Long", f"<p>{TEXT}</p><p>and a lie</p>", visit=2)
    delta = delta_of(new, old.page.content_hash, base_digest(old.page))
    assert delta is not None
    false = msgspec.structs.replace(delta, content_hash=old.page.content_hash)
    kitchen.send(pack([old], "lima", 1), 1)
    kitchen.send(pack([false], "lima", 2), 2)
    worker = Integrator(
        kitchen.database, kitchen.store, kitchen.index, "worker", CoordinatorSettings(compared_share=1.0)
    )
    worker.integrate_pending(NOW)
    with kitchen.database.read() as connection:
        (case,) = cross_check.pending_checks(connection)
    assert case.content_hash == new.page.content_hash.hex(), "whatever the delta says of itself"


def test_a_crawler_that_is_wrong_about_a_known_page_loses_its_standing(
    kitchen: IntegrationHarness,
) -> None:
    known = (KnownPage(url=PAGE.url, words="wheat"),)
    kitchen.send(pack([PAGE], "lima", 1))
    worker = Integrator(
        kitchen.database,
        kitchen.store,
        kitchen.index,
        "worker",
        CoordinatorSettings(compared_share=0.0, known_pages=known),
    )
    assert worker.integrate_pending(NOW) == 1
    assert kitchen.index.page_count() == 0
    assert kitchen.reason(1) == f"{PAGE.url} says 'wheat', and was brought without it"
    with kitchen.database.read() as connection:
        latest = events.latest(connection, 50)
        assert [event.subject for event in latest if event.kind == "distrusted"] == ["lima"]


def test_a_known_page_that_is_right_is_taken_in(kitchen: IntegrationHarness) -> None:
    known = (KnownPage(url=PAGE.url, words="rye"),)
    kitchen.send(pack([PAGE], "lima", 1))
    worker = Integrator(
        kitchen.database,
        kitchen.store,
        kitchen.index,
        "worker",
        CoordinatorSettings(compared_share=0.0, known_pages=known),
    )
    assert worker.integrate_pending(NOW) == 1
    assert kitchen.index.page_count() == 1
