"""The coordinator as a real process integrates pages and links, and asks no site for anything itself."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import msgspec

from ipmicra.carrier.package import pack
from ipmicra.testing.page_records import seen
from tests.coordinator.coordinator_process import RunningCoordinator, running_coordinator
from tests.coordinator.played_orders import take_all


class Canary:
    """Counts whoever connects."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.visitors = 0
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            try:
                visitor = self.server.accept()[0]
            except OSError:
                return
            self.visitors += 1
            visitor.close()


def integrated(coordinator: RunningCoordinator) -> int:
    status = msgspec.json.decode(coordinator.rows("status", "--json"))
    return int(status["packages"].get("integrated", 0))


def test_no_url_of_a_package_or_a_submission_is_asked_by_the_coordinator(tmp_path: Path) -> None:
    page, linked = Canary(), Canary()
    settings = {"fetching.open_ranges": '["127.0.0.0/8"]', "coordinator.known_pages": "[]"}
    database = f"sqlite:///{tmp_path / 'coordinator.sqlite'}"
    with running_coordinator(tmp_path, database, settings) as coordinator:
        host = coordinator.registered("lima")
        coordinator.rows("submit", f"{page.url}/")
        assert take_all(host, 1) == [page.url]
        links = f'<a href="{linked.url}/">x</a><img src="{linked.url}/i"><a href="{page.url}/b">y</a>'
        assert (
            host.send_package(1, pack([seen(f"{page.url}/", "Canary", links)], "lima", 1)).status == 200
        )
        until = time.monotonic() + 90
        while not integrated(coordinator) and time.monotonic() < until:
            host.report(awake=True)
        assert integrated(coordinator) == 1
        assert take_all(host, 1) == [linked.url]  # the link is known, and given to a host
        assert (page.visitors, linked.visitors) == (0, 0)
    with socket.create_connection(("127.0.0.1", int(page.url.rpartition(":")[2]))) as visitor:
        assert visitor.recv(1) == b""  # whoever asks is counted
    assert page.visitors == 1
