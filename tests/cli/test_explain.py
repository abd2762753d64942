"""What `ipmicra explain` shows of a coordinator's answer."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator

import msgspec
import pytest

from ipmicra.cli.main import run
from ipmicra.protocol.coordinator_api import (
    Candidate,
    Explanation,
    Nearest,
    RememberedRoundTrip,
    SubnetSeen,
)

Captured = pytest.CaptureFixture[str]
FULL = Explanation(
    nearest=Nearest(
        site="https://bread.example",
        state="delegated",
        crawler="lima",
        address="198.51.100.1",
        subnet="198.51.100.0/24",
        why="the nearest of two",
    ),
    path=[SubnetSeen(range="198.51.100.0/24", organisation="Bakers", country="PE", registry="lacnic")],
    path_note="an older tree",
    decided_by="ipmicra",
    age_s=12.0,
    probes=[("lima", 10.25, ""), ("oslo", None, "timeout")],
    steps=[("organisation", "nobody of it")],
    remembered=[
        RememberedRoundTrip(crawler="lima", round_trip_ms=10.25, age_s=30.0, probes=1, fetches=4),
        RememberedRoundTrip(crawler="oslo", round_trip_ms=None, age_s=31.0, probes=1, fetches=0),
    ],
    candidates=[
        Candidate(crawler=name, awake=awake, sites=3, bytes_today=4_000, capacity_bytes_a_day=9_000)
        for name, awake in (("lima", True), ("oslo", False))
    ],
    others={"random": "oslo"},
)


@pytest.fixture
def coordinator(request: pytest.FixtureRequest) -> Iterator[str]:
    """Says the same whatever it is asked."""
    body = msgspec.json.encode(request.param)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def explained(coordinator: str, capsys: Captured, *words: str) -> str:
    assert run(["explain", "https://bread.example/", "--coordinator", coordinator, *words]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("coordinator", [FULL], indirect=True)
def test_the_reasons_are_shown(coordinator: str, capsys: Captured) -> None:
    shown = explained(coordinator, capsys)
    for words in (
        "https://bread.example: lima (delegated)",
        "at 198.51.100.1, delegated with 198.51.100.0/24",
        "decided 12 s ago by ipmicra",
        "an older tree",
        "Bakers",
        "no answer (timeout)",
        "10.2 ms",
        "random",
    ):
        assert words in shown
    assert msgspec.json.decode(explained(coordinator, capsys, "--json"), type=Explanation) == FULL


@pytest.mark.parametrize(
    "coordinator",
    [Explanation(nearest=Nearest(site="https://bread.example", state="unknown"))],
    indirect=True,
)
def test_a_site_that_nobody_has_is_shown_without_a_decision(coordinator: str, capsys: Captured) -> None:
    shown = explained(coordinator, capsys)
    assert "https://bread.example: nobody's (unknown)" in shown
    assert "looked at" not in shown
    assert "decided" not in shown
