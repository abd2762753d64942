"""A change to a page that the index lacks: its host is asked for the whole page, and sends it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import update

from ipmicra.carrier.package import digest_of, pack, unpack
from ipmicra.coordinator.assignment import heartbeats
from ipmicra.coordinator.ingest import resend_orders
from ipmicra.coordinator.store import assignments, orders, packages
from ipmicra.coordinator.store.packages import PackageArrival
from ipmicra.coordinator.store.sites import SiteStatus, add_links
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import site_table
from ipmicra.model.ids import LeaseEpoch
from ipmicra.model.records import PageChanged, PageSeen
from ipmicra.model.search import SearchRequest
from ipmicra.model.urls import Url
from ipmicra.protocol.host_messages import (
    FIRST_ORDER_KINDS,
    ORDER_KINDS,
    Heartbeat,
    OrderDone,
    SendWhole,
)
from ipmicra.testing.page_records import changed, seen
from tests.coordinator.ingest.ingest_harness import NOW, IntegrationHarness
from tests.crawler.local_site import Answer, Asked, LocalSite, html
from tests.host.host_harness import host_settings, join, living, take
from tests.host.scripted_coordinator import ScriptedCoordinator

SITE = "https://bread.example"
BEFORE = seen(f"{SITE}/", "Bread", "<p>" + "rye and spelt " * 60 + "</p>", visit=1)
AFTER = seen(f"{SITE}/", "Bread", "<p>" + "rye and spelt " * 60 + "</p><p>wheat</p>", visit=2)


@pytest.fixture
def kitchen(database: Database, tmp_path: Path) -> Iterator[IntegrationHarness]:
    kitchen = IntegrationHarness(database, tmp_path)
    own(kitchen, SITE)
    says(kitchen, ORDER_KINDS)
    yield kitchen
    kitchen.index.close()


def own(kitchen: IntegrationHarness, site: str) -> None:
    with kitchen.database.begin() as connection:
        add_links(connection, [Url(f"{site}/")], NOW)
        assignments.record_assignments(connection, [(site, "lima")], NOW)
        connection.execute(
            update(site_table)
            .where(site_table.c.name == site)
            .values(crawler="lima", state=SiteStatus.DELEGATED)
        )


def says(kitchen: IntegrationHarness, kinds: tuple[str, ...], *done: OrderDone) -> None:
    with kitchen.database.begin() as connection:
        heartbeats.apply_heartbeat(connection, "lima", Heartbeat(order_kinds=kinds, done=done), NOW)


def ordered(kitchen: IntegrationHarness) -> list[tuple[int, SendWhole]]:
    with kitchen.database.begin() as connection:
        offered = orders.open_orders(connection, "lima", NOW)
    return [(order.number, order.body) for order in offered if isinstance(order.body, SendWhole)]


def test_a_page_whose_base_is_missing_is_asked_for_once(kitchen: IntegrationHarness) -> None:
    kitchen.send(pack([changed(BEFORE, AFTER)], "lima", 1), 1)
    kitchen.worker().integrate_pending(NOW)
    ((number, body),) = ordered(kitchen)
    assert body == SendWhole(urls=(f"{SITE}/",))
    kitchen.send(pack([seen(f"{SITE}/other", "Cake", "<p>cake</p>")], "lima", 2), 2)
    kitchen.worker().integrate_pending(NOW + 1)
    assert [one for one, _ in ordered(kitchen)] == [number], "it is open"
    says(kitchen, ORDER_KINDS, OrderDone(number=number))
    kitchen.send(pack([seen(f"{SITE}/third", "Cake", "<p>cake</p>")], "lima", 3), 3)
    kitchen.worker().integrate_pending(NOW + 2)
    assert ordered(kitchen) == [], "it has just been asked for"
    kitchen.send(pack([seen(f"{SITE}/4th", "Cake", "<p>cake</p>")], "lima", 4), 4)
    kitchen.worker().integrate_pending(NOW + resend_orders.ASK_AGAIN_S + 3)
    assert len(ordered(kitchen)) == 1, "it never came"


def test_a_page_that_came_whole_is_not_asked_for(kitchen: IntegrationHarness) -> None:
    kitchen.send(pack([BEFORE], "lima", 1), 1)
    kitchen.send(pack([changed(BEFORE, AFTER)], "lima", 2), 2)
    kitchen.worker().integrate_pending(NOW)
    assert ordered(kitchen) == []
    assert len(kitchen.index.search(SearchRequest(text="wheat")).hits) == 1


def test_an_older_host_and_one_that_has_lost_the_site_are_not_asked(kitchen: IntegrationHarness) -> None:
    says(kitchen, tuple(FIRST_ORDER_KINDS))
    kitchen.send(pack([changed(BEFORE, AFTER)], "lima", 1), 1)
    kitchen.worker().integrate_pending(NOW)
    says(kitchen, ORDER_KINDS)
    with kitchen.database.begin() as connection:
        connection.execute(update(site_table).values(crawler=None, state=SiteStatus.WAITING))
        assert resend_orders.ask(connection, [f"{SITE}/"], NOW) == 0
    assert ordered(kitchen) == []


def test_a_real_host_sends_the_whole_page_and_it_is_found(database: Database, tmp_path: Path) -> None:
    """The coordinator's own integrator and rows, a host that crawls a site which changes."""
    kitchen = IntegrationHarness(database, tmp_path / "home")
    text = "rye and spelt " * 60

    async def story() -> None:
        words = {"/": "barley"}

        def page(asked: Asked) -> Answer:
            if asked.path == "/robots.txt":
                return Answer(status=404)
            return html(title="Bread", text=f"{text}</p><p>{words['/']}")

        async with ScriptedCoordinator().serving() as home, LocalSite(page).serving() as site:
            await join(home, tmp_path)
            own(kitchen, site.address)
            home.give(take(site, f"{site.address}/"))
            settings = host_settings(tmp_path)
            often = msgspec.structs.replace(
                settings.crawler,
                revisit_seconds_first=0.5,
                revisit_seconds_min=0.5,
                revisit_seconds_max=1.0,
            )
            async with living(tmp_path, msgspec.structs.replace(settings, crawler=often)):
                await home.until(lambda: records(home, PageSeen))
                words["/"] = "wheat"
                await home.until(lambda: records(home, PageChanged))
                sequence = records(home, PageChanged)[0]
                says(kitchen, home.heartbeats[-1].order_kinds)
                integrate(kitchen, home, sequence)
                assert not kitchen.index.search(SearchRequest(text="wheat")).hits, "its base is missing"
                ((_, body),) = ordered(kitchen)
                number = home.give(body)
                await home.until(lambda: number in home.done)
                assert home.done[number].done, home.done[number].detail
                before = len(records(home, PageSeen))
                await home.until(lambda: len(records(home, PageSeen)) > before)
                integrate(kitchen, home, records(home, PageSeen)[-1])
            assert len(kitchen.index.search(SearchRequest(text="wheat")).hits) == 1

    try:
        asyncio.run(story())
    finally:
        kitchen.index.close()


def records(home: ScriptedCoordinator, kind: type) -> list[int]:
    """Numbers of the packages that hold a record of the kind."""
    return [
        sequence
        for sequence, (_, data) in sorted(home.packages.items())
        if any(isinstance(record, kind) for record in unpack(data).records)
    ]


def integrate(kitchen: IntegrationHarness, home: ScriptedCoordinator, sequence: int) -> None:
    epoch, data = home.packages[sequence]
    arrival = PackageArrival("lima", sequence, digest_of(data), LeaseEpoch(epoch), data)
    packages.receive(kitchen.database, kitchen.store, arrival, NOW)
    kitchen.worker().integrate_pending(NOW)
