"""A coordinator as monitors, browsers and log collectors meet it."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.coordinator.coordinator_process import RunningCoordinator, running_coordinator


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCoordinator]:
    folder = tmp_path_factory.mktemp("surroundings")
    with running_coordinator(folder, f"sqlite:///{folder / 'coordinator.sqlite'}") as coordinator:
        yield coordinator
        if coordinator.process is not None and coordinator.process.poll() is None:
            coordinator.stop()


def asked(
    coordinator: RunningCoordinator, method: str, path: str, **headers: str
) -> tuple[int, str, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", coordinator.port, timeout=10)
    line.request(method, path, headers=headers)
    answer = line.getresponse()
    body = answer.read()
    line.close()
    return answer.status, answer.headers["content-type"], body


@pytest.mark.parametrize(
    "path",
    ["/", "/health", "/ready", "/metrics", "/search", "/hosts", "/v1/status", "/live", "/nowhere"],
)
def test_head_is_answered_as_get_is(running: RunningCoordinator, path: str) -> None:
    status, media_type, body = asked(running, "HEAD", path)
    assert body == b""
    if path != "/live":  # a stream, which GET would wait for
        assert (status, media_type) == asked(running, "GET", path)[:2]


def test_a_wrong_address_is_a_page_for_browsers_and_json_for_programs(
    running: RunningCoordinator,
) -> None:
    status, media_type, body = asked(running, "GET", "/nowhere", accept="text/html,*/*")
    assert (status, media_type.partition(";")[0]) == (404, "text/html")
    assert b"There is no such page" in body
    status, media_type, body = asked(running, "GET", "/nowhere")
    assert (status, media_type.partition(";")[0]) == (404, "application/json")
    assert json.loads(body)["status_code"] == 404


def test_printed_links_have_the_address_at_which_it_runs(running: RunningCoordinator) -> None:
    assert json.loads(running.rows("admin-link", "--json"))["link"].startswith(running.address)
    told = json.loads(running.rows("register", "oslo", "--json"))
    assert told["coordinator"] == running.address


def test_status_says_whether_it_runs(running: RunningCoordinator) -> None:
    assert "yes, led by" in running.rows("status")


def test_a_client_that_asks_too_often_waits(running: RunningCoordinator) -> None:
    url = f"{running.address}/v1/explain?url=https://a.example/"
    waits = ""
    for _ in range(200):
        try:
            urllib.request.urlopen(url, timeout=30).close()
        except urllib.error.HTTPError as refused:
            refused.close()
            if refused.code == 429:
                waits = refused.headers["retry-after"]
                break
    assert int(waits) >= 1
    with urllib.request.urlopen(f"{running.address}/ready", timeout=30) as ready:
        assert ready.status == 200, "only expensive questions are limited"


def test_every_line_of_the_log_is_json(running: RunningCoordinator) -> None:
    running.stop()
    assert "no: start it with" in running.rows("status")
    lines = [line for line in running.log.read_text().splitlines() if not line.startswith("Administer")]
    assert len(lines) >= 2
    for line in lines:
        assert {"at", "level", "from", "what"} <= set(json.loads(line)), line
