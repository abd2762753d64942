"""The overlay's dashboard in a real Chromium: live peers, one process of them killed while it is watched."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec
import pytest
from playwright.sync_api import ViewportSize, expect

from ipmicra.errors import PeerFault
from ipmicra.overlay.live.network_file import NetworkFile
from ipmicra.overlay.live.rpc_client import all_statuses, submit
from ipmicra.protocol.overlay_frames import FrameCodec
from tests.coordinator.coordinator_process import free_port
from tests.overlay.network import random_point
from tests.overlay.peers_process import SECRET, SPACE
from tests.web.browser import PATIENCE_MS, Visitor, chromium

PROCESSES, PEERS_EACH, SITES = 3, 4, 24
PHONE = ViewportSize(width=390, height=844)

expect.set_options(timeout=PATIENCE_MS)


@contextmanager
def peers(ports: list[int]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Some in each process; the first process knows nobody."""
    via, started = f"127.0.0.1:{ports[0]}", []
    try:
        for at in range(0, len(ports), PEERS_EACH):
            mine = map(str, ports[at : at + PEERS_EACH])
            command = [sys.executable, "-m", "tests.overlay.peers_process", via, *mine]
            started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextmanager
def dashboard(folder: Path, via: str) -> Iterator[str]:
    network = folder / "net.json"
    shared = NetworkFile(SPACE.low, SPACE.high, SECRET.decode())
    network.write_bytes(msgspec.json.encode(shared))
    port = free_port()
    words = ["overlay", "dashboard", str(network), via, "--port", str(port)]
    with subprocess.Popen([sys.executable, "-m", "ipmicra", *words]) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


async def settled(via: str, many: int) -> None:
    """Until all have zones; then they get sites."""
    codec, dice = FrameCodec(SECRET), Random(1)
    end_s = time.monotonic() + 60
    while time.monotonic() < end_s:
        try:
            found = await all_statuses(via, codec)
        except PeerFault:
            found = []
        if len(found) == many and all(peer.descriptor.zones for peer in found):
            break
        await asyncio.sleep(0.3)
    for number in range(SITES):
        await submit(f"https://s{number}.example", random_point(dice, SPACE), SPACE, via, codec)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_zones_are_drawn_live_and_outlive_the_peer_that_was_asked(tmp_path: Path) -> None:
    ports = [free_port() for _ in range(PROCESSES * PEERS_EACH)]
    last = f"127.0.0.1:{ports[-1]}"
    with peers(ports) as processes, dashboard(tmp_path, last) as origin:
        asyncio.run(settled(f"127.0.0.1:{ports[0]}", len(ports)))
        with chromium() as browser:
            person = Visitor(browser, origin)
            watched(person, len(ports), processes[-1])
            looked_at_closely(person)
            assert person.strangers() == set(), "no request leaves the origin"
            assert person.complaints == []
            person.close()
            read_without_scripts(Visitor(browser, origin, scripts=False))


def watched(person: Visitor, many: int, doomed: subprocess.Popen[bytes]) -> None:
    """Opened once and not reloaded: the killed peers vanish, and their space is somebody's again."""
    page = person.go("/")
    expect(page.locator("[data-figure=peers]")).to_have_text(str(many))
    expect(page.locator("[data-figure=sites]")).to_have_text(str(SITES))
    expect(page.locator("svg .crawler")).to_have_count(many)
    expect(page.locator("svg .subnet")).to_have_count(SITES)
    doomed.kill()
    expect(page.locator("svg .crawler")).to_have_count(many - PEERS_EACH)
    expect(page.locator("[data-figure=space]")).to_have_text("100 %")
    expect(page.locator("svg .subnet")).to_have_count(SITES)


def looked_at_closely(person: Visitor) -> None:
    """No fault that axe finds serious, unfolded, light and dark; nothing wider than a phone."""
    page = person.page
    page.get_by_text("The same as tables").click()
    expect(page.get_by_role("region", name="Sites").locator("tbody tr")).to_have_count(SITES)
    assert person.faults("light") == []
    assert person.faults("dark") == []
    page.set_viewport_size(PHONE)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]


def read_without_scripts(person: Visitor) -> None:
    page = person.go("/")
    expect(page.locator("svg .zone").first).to_be_attached()
    page.get_by_text("The same as tables").click()
    expect(page.get_by_role("region", name="Peers")).to_be_visible()
    person.close()
