"""Packages in flight, and errors by kind."""

from __future__ import annotations

import msgspec

from ipmicra.carrier.package import digest_of, pack, unpack
from ipmicra.coordinator.store import events, failures, packages
from ipmicra.coordinator.store.packages import ClaimedPackage, PackageArrival
from ipmicra.coordinator.views.alerts import STUCK_SECONDS, alerts
from ipmicra.model.ids import LeaseEpoch
from ipmicra.model.records import VisitFailed
from ipmicra.protocol.coordinator_api import AlertList
from tests.web.dashboard_harness import DashboardHarness


def sent(scene: DashboardHarness, crawler: str, sequence: int) -> ClaimedPackage:
    data = f"{crawler} {sequence}".encode()
    arrival = PackageArrival(crawler, sequence, digest_of(data), LeaseEpoch(0), data)
    packages.receive(scene.database, scene.store, arrival, scene.now_s)
    return ClaimedPackage(crawler, sequence, arrival.digest, LeaseEpoch(0))


def kinds(scene: DashboardHarness) -> dict[str, int]:
    with scene.database.read() as connection:
        return {trouble.kind: trouble.count for trouble in alerts(connection, scene.now_s)}


def test_packages_are_shown_by_crawler_and_by_state(scene: DashboardHarness) -> None:
    scene.join("lima", spooled_packages=3)
    done, refused = sent(scene, "lima", 1), sent(scene, "lima", 2)
    sent(scene, "lima", 3)
    with scene.database.begin() as connection:
        packages.mark_integrated(connection, done, scene.now_s + 2)
        packages.mark_refused(connection, refused, "does not unpack", scene.now_s)
    page = scene.get("/packages").text
    assert "does not unpack" in page
    for word in ("under way", "integrated", "refused"):
        assert f">{word}</span>" in page
    for key, number in {"spooled": 3, "waiting": 1, "integrated": 1}.items():
        assert f'data-figure="{key}">{number}<' in page


def test_without_packages_the_page_says_so(scene: DashboardHarness) -> None:
    assert "No package has arrived yet" in scene.get("/packages").text


def test_when_nothing_goes_wrong_the_page_says_so(scene: DashboardHarness) -> None:
    scene.join("lima")
    assert "Nothing goes wrong at the moment" in scene.get("/errors").text


def test_errors_are_told_by_kind_with_examples_and_advice(scene: DashboardHarness) -> None:
    scene.join("lima")
    scene.site("https://gone.example", "192.0.2.9")  # nobody reaches it
    scene.submit("https://gone.example/", "https://no-such-name.example/")
    scene.play()
    page = scene.get("/errors").text
    assert "Sites that no crawler could reach" in page
    assert 'href="/explain?url=https://gone.example"' in page
    assert "tried again automatically" in page
    with scene.database.read() as connection:
        found = {trouble.what for trouble in alerts(connection, scene.now_s)}
    assert found == {"no such name", "no crawler that was asked got an answer"}


def test_one_reason_is_one_kind_whatever_the_names_in_it(scene: DashboardHarness) -> None:
    names = [f"https://a{number}.example" for number in range(7)]
    scene.names |= {name: f"{name.removeprefix('https://')} has no address" for name in names}
    scene.join("lima")
    scene.submit(*(f"{name}/" for name in names))
    scene.play()
    with scene.database.read() as connection:
        (trouble,) = alerts(connection, scene.now_s)
    assert (trouble.what, trouble.count) == ("the name has no address", 7)
    assert len(trouble.examples) == 5


def test_each_kind_of_trouble_is_seen(scene: DashboardHarness) -> None:
    scene.join("lima")
    refused = sent(scene, "lima", 1)
    sent(scene, "lima", 2)
    with scene.database.begin() as connection:
        packages.mark_refused(connection, refused, "does not unpack", scene.now_s)
        events.record(
            connection, events.EventKind.LEASE_LOST, "lima", "silent past its lease", scene.now_s
        )
    scene.submit("https://a.example/")
    scene.now_s += STUCK_SECONDS + 1
    assert kinds(scene) == {
        "package-refused": 1,
        "package-waits": 1,
        "lease-lost": 1,
        "host-silent": 1,
        "site-waits": 1,
    }
    assert scene.get("/errors").text.count("to fix") >= 5


# --- visits that failed ---------------------------------------------------------------------------

HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"


def fail(scene: DashboardHarness, *told: tuple[str, str, str]) -> None:
    records = [
        VisitFailed(url=url, visit=1, fetched_at_ms=int(1000 * scene.now_s), kind=kind, detail=detail)
        for url, kind, detail in told
    ]
    with scene.database.begin() as connection:
        failures.count_failures(connection, unpack(pack(records, "lima", 1)), scene.now_s)


def test_failed_visits_are_told_by_kind_with_where_and_by_whom(scene: DashboardHarness) -> None:
    fail(
        scene,
        ("https://a.example/x", "tls", "certificate has expired"),
        ("https://b.example/", "status 503", ""),
        ("https://b.example/forbidden", "robots", ""),
    )
    scene.now_s += 120
    page = scene.get("/errors").text
    assert "Nothing goes wrong" not in page
    for words in ("Certificates and encryption", "certificate has expired", "https://a.example/x",
                  "503 Service Unavailable", "2 min ago"):  # fmt: skip
        assert words in page
    assert 'href="/explain?url=https://a.example"' in page
    assert 'href="/hosts/lima"' in page
    assert page.index("Servers that fail") < page.index("Pages that were not fetched or not stored")


def test_nothing_that_a_crawler_says_of_a_failure_is_markup(scene: DashboardHarness) -> None:
    fail(scene, (f"https://a.example/?{HOSTILE}", "connect", HOSTILE), (HOSTILE, HOSTILE, HOSTILE))
    page = scene.get("/errors").text
    assert "<script>alert" not in page
    assert "<img" not in page
    assert page.count("&lt;script&gt;") >= 3


def test_errors_are_told_as_json_too(scene: DashboardHarness) -> None:
    fail(scene, ("https://a.example/x", "tls", HOSTILE))
    scene.submit("https://b.example/")
    scene.now_s += STUCK_SECONDS + 1
    found = msgspec.json.decode(scene.get("/v1/errors").content, type=AlertList)
    assert [trouble.kind for trouble in found.troubles] == ["site-waits"]
    assert [(one.kind, one.count, one.examples[0].detail) for one in found.failures] == [
        ("tls", 1, HOSTILE)
    ]
