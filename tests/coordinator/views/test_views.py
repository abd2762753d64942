"""What pages read and operators write, on both kinds of database."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator.admin import sessions
from ipmicra.coordinator.store import packages, traffic
from ipmicra.coordinator.store.packages import PackageArrival
from ipmicra.coordinator.views import packages as views_packages
from ipmicra.coordinator.views.alerts import alerts
from ipmicra.errors import OperatorFault
from ipmicra.model.ids import LeaseEpoch
from ipmicra.protocol.host_messages import Passive
from tests.web.dashboard_harness import DashboardHarness

SITE = "https://near.example"
PAGES = ["/", "/figures", "/map", "/map.json", "/tree", "/hosts", "/hosts/oslo", "/packages", "/errors",
         f"/explain?url={SITE}"]  # fmt: skip


def seen(site: str, body_bytes: int, round_trip_ms: float) -> Passive:
    return Passive(
        site=site, address="192.0.2.1", round_trip_ms=round_trip_ms, first_byte_ms=1.0, download_ms=1.0,
        fetches=2, body_bytes=body_bytes,
    )  # fmt: skip


def test_traffic_is_summed_by_site_and_crawler(database_address: str, tmp_path: Path) -> None:
    with DashboardHarness(tmp_path, database=database_address) as scene:
        for crawler in ("oslo", "lima"):
            with scene.database.begin() as connection:
                traffic.add(connection, crawler, [seen(SITE, 100, 10.0), seen(SITE, 50, 20.0)])
                traffic.add(connection, crawler, [seen(SITE, 1, 5.0), seen("x" * 301, 9, 9.0)])
                traffic.add(connection, crawler, [])
        with scene.database.read() as connection:
            assert traffic.total(connection) == (12, 302)
            rows = sorted(traffic.site_traffic(connection))
    assert rows == [(SITE, "lima", 151, 2005.0), (SITE, "oslo", 151, 2005.0)]


def test_every_page_is_read_from_either_database(database_address: str, tmp_path: Path) -> None:
    with DashboardHarness(tmp_path, database=database_address) as scene:
        scene.join("oslo")
        scene.site(SITE, "192.0.2.1", oslo=10.0)
        scene.submit(f"{SITE}/", "https://no-such-name.example/")
        scene.play()
        scene.fetches("oslo", SITE, 10.0)
        data = b"a package"
        arrival = PackageArrival("oslo", 1, digest_of(data), LeaseEpoch(0), data)
        packages.receive(scene.database, scene.store, arrival, scene.now_s)
        scene.now_s += 1_000
        for path in PAGES:
            assert scene.get(path).status_code == 200, path
        with scene.database.read() as connection:
            kinds = {trouble.kind for trouble in alerts(connection, scene.now_s)}
            sent = views_packages.senders(connection)
    assert kinds == {"site-unreachable", "host-silent", "package-waits"}
    assert [(sender.crawler, sender.waiting, sender.home_bytes) for sender in sent] == [("oslo", 1, 9)]


def test_operators_get_in_and_out_on_either_database(database_address: str, tmp_path: Path) -> None:
    with DashboardHarness(tmp_path, database=database_address) as scene:
        with scene.database.begin() as connection:
            link = sessions.create_first_link(connection, scene.now_s)
            assert link is not None
            assert sessions.use_link(connection, link, scene.now_s)
            assert not sessions.use_link(connection, link, scene.now_s)
            sessions.set_passphrase(connection, "words that do not belong together")
            sessions.set_passphrase(connection, "other words that do not belong")
            first, second = (sessions.begin_session(connection, scene.now_s) for _ in range(2))
        with scene.database.begin() as connection:
            assert sessions.is_passphrase(connection, "other words that do not belong")
            assert not sessions.is_passphrase(connection, "words that do not belong together")
            sessions.end_other_sessions(connection, second)
            assert not sessions.touch_session(connection, first, scene.now_s)
            assert sessions.touch_session(connection, second, scene.now_s + 100)
            sessions.end_session(connection, second)
            assert not sessions.touch_session(connection, second, scene.now_s)


@pytest.mark.parametrize("words", ["", "eleven char", "x" * 1001])
def test_a_passphrase_is_neither_short_nor_endless(words: str, tmp_path: Path) -> None:
    with (
        DashboardHarness(tmp_path) as scene,
        scene.database.begin() as connection,
        pytest.raises(OperatorFault, match="a passphrase has"),
    ):
        sessions.set_passphrase(connection, words)
