"""The overview: figures from rows, curves with a table behind, live events that end."""

from __future__ import annotations

import asyncio
import http.client
from pathlib import Path

import msgspec
import pytest

from ipmicra.coordinator.api.server import SHUTDOWN_SECONDS
from ipmicra.theme.assets import assets
from ipmicra.theme.policy import HEADERS
from ipmicra.web import live as live_module
from ipmicra.web.live import sample_event
from tests.coordinator.coordinator_process import running_coordinator
from tests.web.dashboard_harness import DashboardHarness


def crawl(scene: DashboardHarness) -> None:
    """Two crawlers, three sites, one of them far from one of the crawlers."""
    scene.join("oslo")
    scene.join("lima")
    scene.site("https://near.example", "192.0.2.1", oslo=10.0, lima=200.0)
    scene.site("https://far.example", "198.51.100.1", oslo=210.0, lima=20.0)
    scene.submit("https://near.example/", "https://far.example/")
    scene.play()
    scene.fetches("oslo", "https://near.example", 10.0, body_bytes=1000)


def test_an_empty_coordinator_shows_its_page_and_says_that_nothing_happened(
    scene: DashboardHarness,
) -> None:
    answer = scene.get("/")
    assert answer.status_code == 200
    assert "Nothing has happened yet" in answer.text
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_the_figures_are_counted_from_rows(scene: DashboardHarness) -> None:
    crawl(scene)
    now = msgspec.json.decode(scene.get("/figures").content)["texts"]
    assert (now["sites"], now["subnets"], now["crawlers"]) == ("2", "2", "2")
    assert now["crawlers-note"] == "2 awake, 2 hosts registered"
    assert now["rate-note"] == "1 fetched, 1.00 kB"


def test_behind_every_curve_stands_a_table(scene: DashboardHarness) -> None:
    page = scene.get("/").text
    assert page.count('class="chart"') == page.count("The same as a table") == 2


def test_every_script_and_style_that_a_page_names_is_served_and_kept(scene: DashboardHarness) -> None:
    for name, asset in assets().items():
        answer = scene.get(f"/assets/{name}")
        assert (answer.status_code, answer.content) == (200, asset.body)
        assert "immutable" in answer.headers["cache-control"]
    assert scene.get("/assets/..%2fpolicy.py").status_code == 404


def test_a_watcher_hears_samples_and_heartbeats_and_the_stream_ends_with_the_server(
    scene: DashboardHarness,
) -> None:
    async def watch() -> list[bytes]:
        heard = []
        async for event in scene.pages.live.events():
            heard.append(event)
            if len(heard) == 2:
                await scene.pages.sampler.take_sample()
            if len(heard) == 3:
                scene.pages.stop()
        return heard

    first, now, later, *rest = asyncio.run(watch())
    assert first == b"retry: 3000\n\n"
    assert now.startswith(b"data: {")
    assert later.startswith(b"data: {")
    assert all(event == b": here\n\n" for event in rest)
    assert scene.pages.live.watchers == 0


def test_the_number_of_watchers_is_limited(
    scene: DashboardHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "WATCHERS_MAX", 0)
    answer = scene.get("/live")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")


def test_an_event_is_one_line_whatever_it_tells(scene: DashboardHarness) -> None:
    sample = asyncio.run(scene.pages.sampler.take_sample())
    assert b"\n" not in sample_event(sample)


def test_what_goes_wrong_is_told_to_people_as_a_page_and_to_programs_as_json(
    scene: DashboardHarness,
) -> None:
    page, data = scene.get("/search?q=x&limit=0"), scene.get("/api/search?q=x&limit=0")
    assert (page.status_code, data.status_code) == (400, 400)
    assert "That did not work" in page.text
    assert data.json()["status_code"] == 400
    assert {name: page.headers[name] for name in HEADERS} == HEADERS


@pytest.mark.timeout(120)
def test_a_stop_ends_the_stream_of_whoever_watches(tmp_path: Path) -> None:
    with running_coordinator(tmp_path, f"sqlite:///{tmp_path / 'rows.sqlite'}") as coordinator:
        line = http.client.HTTPConnection("127.0.0.1", coordinator.port, timeout=60)
        line.request("GET", "/live")
        stream = line.getresponse()
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.readline() == b"retry: 3000\n"
        assert stream.readline() == b"\n"
        assert stream.readline().startswith(b"data: ")
        assert coordinator.process is not None
        coordinator.process.terminate()
        stream.read()
        line.close()
        assert coordinator.process.wait(SHUTDOWN_SECONDS / 2) == 0


def test_an_index_that_cannot_be_read_is_no_reason_to_end(
    scene: DashboardHarness, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "index" / "engine-2" / "meta.json").write_text("no index")
    scene.pages.refresh()
    assert "cannot read the index" in caplog.text
    assert scene.get("/search").status_code == 200, "what was read before is still there"
