"""A share of pages is seen by somebody else, known pages are checked, and who lies loses its standing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection

from ipmicra.carrier.package import pack, unpack
from ipmicra.coordinator.ingest import cross_check
from ipmicra.coordinator.ingest.integrator import Integrator
from ipmicra.coordinator.settings import KnownPage
from ipmicra.coordinator.store import events, hosts, orders
from ipmicra.coordinator.store.database import Database
from ipmicra.model.records import PageSeen
from ipmicra.protocol.host_messages import ObservePages, OrderDone, PageObservation
from tests.coordinator.ingest.test_integrator import CLAIM_S, NOW, PAGE, Kitchen
from tests.search.worlds import seen

LEASE_S = 900.0
TEXT = " ".join(f"word{number} of the true page" for number in range(60))
TRUE = seen("https://bread.example/long", "Long", f"<p>{TEXT}</p>")
FALSE = seen("https://bread.example/long", "Long", "<p>" + " ".join(f"buy {n} pills" for n in range(90)))
PAGES = [
    seen(f"https://bread.example/{number}", "Long", f"<p>{number} {TEXT}</p>") for number in range(4)
]


@pytest.fixture
def kitchen(database: Database, tmp_path: Path) -> Iterator[Kitchen]:
    """Cuzco brings pages; oslo and kobe are elsewhere, its neighbour is not, and lima is silent."""
    kitchen = Kitchen(database, tmp_path)
    addresses = {"oslo": "8.8.8.8", "kobe": "9.9.9.9", "next-door": "1.1.1.2"}
    with database.begin() as connection:
        for number, (name, address) in enumerate(addresses.items()):
            hosts.register(connection, name, name, NOW, 60)
            hosts.enrol(connection, name, bytes([number + 1] * 32), address, NOW)
        hosts.register(connection, "cuzco", "cuzco", NOW, 60)
        hosts.enrol(connection, "cuzco", bytes([9] * 32), "1.1.1.1", NOW)
        for host in hosts.all_hosts(connection):
            if host.name != "lima":
                hosts.renew_lease(connection, host.name, NOW, LEASE_S)
                hosts.save_report(connection, host.name, {"awake": True})
    yield kitchen
    kitchen.index.close()


def asked(connection: Connection) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for host in hosts.all_hosts(connection):
        for order in orders.open_orders(connection, host.name, NOW):
            assert isinstance(order.body, ObservePages)
            found[host.name] = (*found.get(host.name, ()), *order.body.urls)
    return found


def picked(connection: Connection, *records: PageSeen, share: float = 1.0) -> None:
    package = unpack(pack(list(records), "cuzco", 1))
    cross_check.select_pages(connection, package, share, NOW)


def look_of(record: PageSeen, url: str) -> PageObservation:
    page = record.page
    return PageObservation(
        url=url, content_hash=page.content_hash.hex(), similarity_hash=page.similarity_hash
    )


def happened(connection: Connection, kind: str) -> list[str]:
    return [event.subject for event in events.latest(connection, 50) if event.kind == kind]


def test_a_page_is_seen_by_a_host_in_another_network(kitchen: Kitchen) -> None:
    with kitchen.database.begin() as connection:
        picked(connection, *PAGES)
        cross_check.send_checks(connection, NOW)
        witnesses = asked(connection)
        cross_check.send_checks(connection, NOW)
        assert asked(connection) == witnesses, "each is asked for once"
    assert set(witnesses) <= {"oslo", "kobe"}
    assert sorted(url for urls in witnesses.values() for url in urls) == [page.url for page in PAGES]


def test_without_a_share_nothing_is_seen_twice(kitchen: Kitchen) -> None:
    with kitchen.database.begin() as connection:
        picked(connection, *PAGES, share=0.0)
        cross_check.send_checks(connection, NOW)
        assert asked(connection) == {}


def test_a_crawler_that_several_hosts_contradict_loses_its_standing(kitchen: Kitchen) -> None:
    with kitchen.database.begin() as connection:
        for number in range(12):
            told(connection, f"https://bread.example/{number}", FALSE, TRUE)
            if happened(connection, "distrusted"):
                break
        assert happened(connection, "distrusted") == ["cuzco"]
        assert len(happened(connection, "contradicted")) >= cross_check.CONTRADICTIONS_MAX
        host = hosts.host_named(connection, "cuzco")
        assert host is not None
        assert host.state is hosts.HostState.REVOKED


def test_an_honest_crawler_keeps_its_standing_though_pages_change_a_little(kitchen: Kitchen) -> None:
    changed = seen("https://bread.example/long", "Long", f"<p>{TEXT} and a line that is new</p>")
    with kitchen.database.begin() as connection:
        for number in range(12):
            told(connection, f"https://bread.example/{number}", TRUE, changed)
        assert happened(connection, "contradicted") == []


def told(connection: Connection, url: str, brought: PageSeen, looked: PageSeen) -> None:
    """The crawler brings one page, and whoever is asked sees another one there."""
    page = msgspec.structs.replace(brought.page, url=url)
    picked(connection, msgspec.structs.replace(brought, url=url, page=page))
    cross_check.send_checks(connection, NOW)
    (witness,) = (host for host, urls in asked(connection).items() if url in urls)
    (order,) = orders.open_orders(connection, witness, NOW)
    done = OrderDone(number=order.number, looks=(look_of(looked, url),))
    orders.close(connection, witness, done, NOW)
    cross_check.on_pages_observed(connection, witness, ObservePages(urls=(url,)), done, NOW)


def test_a_crawler_that_is_wrong_about_a_known_page_loses_its_standing(kitchen: Kitchen) -> None:
    known = (KnownPage(url=PAGE.url, words="wheat"),)
    kitchen.send(pack([PAGE], "lima", 1))
    worker = Integrator(kitchen.database, kitchen.store, kitchen.index, "worker", CLAIM_S, 0.0, known)
    assert worker.integrate_pending(NOW) == 1
    assert kitchen.index.page_count() == 0
    assert kitchen.reason(1) == f"{PAGE.url} says 'wheat', and was brought without it"
    with kitchen.database.read() as connection:
        assert happened(connection, "distrusted") == ["lima"]


def test_a_known_page_that_is_right_is_taken_in(kitchen: Kitchen) -> None:
    known = (KnownPage(url=PAGE.url, words="rye"),)
    kitchen.send(pack([PAGE], "lima", 1))
    worker = Integrator(kitchen.database, kitchen.store, kitchen.index, "worker", CLAIM_S, 0.0, known)
    assert worker.integrate_pending(NOW) == 1
    assert kitchen.index.page_count() == 1
