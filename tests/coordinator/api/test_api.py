"""The coordinator as a process: what a host and a person meet over HTTP."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ipmicra.carrier.package import pack
from ipmicra.coordinator.client import CoordinatorClient
from ipmicra.errors import OperatorFault, SiteFault
from ipmicra.protocol.host_messages import AssignSites, Heartbeat, OrderDone, ProbeTargets
from ipmicra.protocol.signing import DIGEST
from ipmicra.testing.page_records import seen
from tests.coordinator.conftest import emptied
from tests.coordinator.coordinator_process import RunningCoordinator, running_coordinator
from tests.coordinator.played_host import PlayedHost
from tests.coordinator.played_orders import next_order

OPEN = {"fetching.open_ranges": '["127.0.0.0/8"]', "coordinator.strategy": "ipmicra@50"}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def coordinator(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningCoordinator]:
    """One process for all these tests, so each has hosts and sites of its own."""
    folder = tmp_path_factory.mktemp("coordinator")
    database = f"sqlite:///{folder / 'rows.sqlite'}"
    if request.param == "postgresql":
        database = request.getfixturevalue("postgresql")
        emptied(database)
    with running_coordinator(folder, database, OPEN) as running:
        yield running


@pytest.fixture
def lima(coordinator: RunningCoordinator, request: pytest.FixtureRequest) -> Iterator[PlayedHost]:
    """The only host that is present."""
    host = coordinator.registered(f"lima-{abs(hash(request.node.name)) % 10**9}")
    yield host
    host.leave()


def test_a_site_goes_to_the_nearest_host_and_its_page_comes_home(
    coordinator: RunningCoordinator, lima: PlayedHost
) -> None:
    site = "http://127.77.0.1:8080"
    coordinator.rows("submit", f"{site}/a", f"{site}/b")
    probe = next_order(lima, ProbeTargets, site)
    assert isinstance(probe.body, ProbeTargets)
    (target,) = probe.body.targets
    assert (target.site, target.address, target.port) == (site, "127.77.0.1", 8080)
    lima.answer_probe(probe.number, site, "127.77.0.1", 12.5)

    links: list[str] = []
    while len(links) < 2:
        take = next_order(lima, AssignSites, site)
        assert isinstance(take.body, AssignSites)
        (grant,) = take.body.grants
        assert (grant.site, grant.address, grant.has_state) == (site, "127.77.0.1", False)
        links += grant.links
        lima.report(OrderDone(number=take.number))
    assert links == [f"{site}/a", f"{site}/b"]
    assert not lima.orders().orders

    package = pack([seen(f"{site}/a", "hello", "world")], lima.name, 1)
    for _ in range(2):  # the same again is acknowledged again
        assert lima.send_package(1, package).status == 200
    assert lima.send_package(1, package + b"x").refusal().kind == "number"
    assert lima.send_package(2, package, epoch=7).refusal().kind == "epoch"
    client = CoordinatorClient(coordinator.address)
    end = time.monotonic() + 30
    while client.status().packages != {"integrated": 1} and time.monotonic() < end:
        time.sleep(0.1)
    assert client.status().packages == {"integrated": 1}

    near = client.nearest(f"{site}/anything")
    assert (near.crawler, near.round_trip_ms, near.state) == (lima.name, 12.5, "delegated")
    told = client.explain(site)
    assert told.probes == [(lima.name, 12.5, "")]
    assert "delegated as a single address" in told.path_note
    assert told.others["brute-force"] == lima.name


def test_nearest_asks_about_a_new_site_and_gives_nobody_work(
    coordinator: RunningCoordinator, lima: PlayedHost
) -> None:
    site = "http://127.77.0.2:8080"
    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(CoordinatorClient(coordinator.address).nearest(site, wait_s=30))
    )
    asking.start()
    probe = next_order(lima, ProbeTargets, site)
    lima.answer_probe(probe.number, site, "127.77.0.2", 7.0)
    asking.join()
    assert [(near.crawler, near.state) for near in answers] == [(lima.name, "located")]
    assert not any(isinstance(order.body, AssignSites) for order in lima.orders().orders)


def test_a_long_poll_is_answered_when_there_is_an_order(
    coordinator: RunningCoordinator, lima: PlayedHost
) -> None:
    site = "http://127.77.0.3:8080"
    found = []
    polling = threading.Thread(target=lambda: found.append(next_order(lima, ProbeTargets, site)))
    polling.start()
    coordinator.rows("submit", f"{site}/")
    polling.join(60)
    assert len(found) == 1


def test_a_revoked_or_foreign_or_replayed_request_is_refused(coordinator: RunningCoordinator) -> None:
    lima = coordinator.registered("lima")
    headers = lima.signed("POST", "/v1/host/orders?wait=0", "orders", b"")
    assert lima.send("POST", "/v1/host/orders?wait=0", b"", headers).status == 200
    assert lima.send("POST", "/v1/host/orders?wait=0", b"", headers).refusal().kind == "sequence"
    assert lima.send("POST", "/v1/host/orders?wait=1", b"", headers).refusal().kind == "signature"
    assert lima.send("POST", "/v1/host/orders?wait=0", b"", {}).refusal().kind == "unsigned"
    assert lima.ask("POST", "/v1/host/orders?wait=0", "reports").refusal().kind == "channel"
    assert lima.ask("POST", "/v1/host/report", "reports", b"nonsense").refusal().kind == "malformed"
    assert PlayedHost(coordinator.port, "lima").enrol("no-such-token").refusal().kind == "token"
    coordinator.rows("revoke", "lima")
    assert lima.ask("POST", "/v1/host/orders?wait=0", "orders").refusal().kind == "not-enrolled"


def test_a_stop_ends_long_polls_and_leaves_in_good_order(tmp_path: Path) -> None:
    with running_coordinator(tmp_path, f"sqlite:///{tmp_path / 'rows.sqlite'}", OPEN) as coordinator:
        _stop_while_somebody_waits(coordinator)


def _stop_while_somebody_waits(coordinator: RunningCoordinator) -> None:
    lima = coordinator.registered("lima")
    found = []
    polling = threading.Thread(target=lambda: found.append(lima.orders(wait=40)))
    polling.start()
    while "polls_waiting 1" not in read(f"{coordinator.address}/metrics"):
        time.sleep(0.05)
    assert coordinator.stop(signal.SIGTERM) == 0
    polling.join(10)
    assert len(found) == 1
    log = [json.loads(line) for line in coordinator.log.read_text().splitlines() if line.startswith("{")]
    assert {"leading the delegation", "a host enrolled"} <= {line["what"] for line in log}


def test_what_is_wrong_is_said_to_whoever_did_it(coordinator: RunningCoordinator) -> None:
    with pytest.raises(OperatorFault, match="not a valid URL"):
        CoordinatorClient(coordinator.address).nearest("ftp://example.org/")
    with pytest.raises(SiteFault, match="no coordinator answers at"):
        CoordinatorClient("http://127.0.0.1:1").status()
    with pytest.raises(OperatorFault, match="write http"):
        CoordinatorClient("coordinator.example")
    schema = json.loads(read(f"{coordinator.address}/schema/openapi.json"))
    assert {"/v1/nearest", "/v1/explain", "/v1/status", "/v1/host/orders"} <= set(schema["paths"])
    assert read(f"{coordinator.address}/health") == "alive\n"


def read(address: str) -> str:
    with urllib.request.urlopen(address, timeout=30) as answer:
        text: str = answer.read().decode()
        return text


def test_a_number_that_no_database_holds_is_the_senders_fault(lima: PlayedHost) -> None:
    data = pack([seen("https://far.example/", "Far")], lima.name, 1)
    assert lima.send_package(1 << 63, data).status == 400
    heartbeat = Heartbeat(done=(OrderDone(number=1 << 63),))
    body = msgspec.msgpack.encode(heartbeat)
    assert lima.ask("POST", "/v1/host/report", "reports", body).status == 400


def test_an_unsigned_body_is_refused_before_it_is_read(coordinator: RunningCoordinator) -> None:
    """Only the head is sent; whoever reads on would wait for the body for ever."""
    host, port = coordinator.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as line:
        line.sendall(
            b"PUT /v1/host/states?site=http://a.example&epoch=0 HTTP/1.1\r\nHost: x\r\n"
            b"Content-Length: 200000000\r\n\r\n"
        )
        assert line.recv(64).startswith(b"HTTP/1.1 403")


def test_a_falsely_signed_body_is_refused_before_it_is_read(lima: PlayedHost) -> None:
    """As above, with headers that name a host that is enrolled, and a digest; the signature is another's."""
    path = "/v1/host/states?site=http://a.example&epoch=0"
    stranger = PlayedHost(lima.port, lima.name)
    headers = {**stranger.signed("PUT", path, "packages", b""), "content-length": "200000000"}
    assert half_sent(lima.port, path, headers).startswith(b"HTTP/1.1 403")


def half_sent(port: int, path: str, headers: dict[str, str]) -> bytes:
    lines = [f"PUT {path} HTTP/1.1", "host: x", *(f"{name}: {value}" for name, value in headers.items())]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        return line.recv(64)


def test_a_body_that_is_not_the_signed_one_is_refused(lima: PlayedHost) -> None:
    path = "/v1/host/states?site=http://a.example&epoch=0"
    headers = lima.signed("PUT", path, "packages", b"a" * 100_000)
    assert lima.send("PUT", path, b"b" * 100_000, headers).refusal().kind == "digest"


def test_a_host_of_0_1_signs_no_digest_and_is_understood(lima: PlayedHost) -> None:
    body = msgspec.msgpack.encode(Heartbeat(awake=True, resting="x" * 100_000))
    headers = lima.signed("POST", "/v1/host/report", "reports", body)
    del headers[DIGEST]
    assert lima.send("POST", "/v1/host/report", body, headers).status == 200


def test_large_bodies_do_not_lie_in_memory(coordinator: RunningCoordinator, lima: PlayedHost) -> None:
    path = "/v1/host/states?site=http://a.example&epoch=0"
    state = b"x" * (100 << 20)
    assert coordinator.process is not None
    before = peak_bytes(coordinator.process.pid)
    for _ in range(2):
        assert lima.ask("PUT", path, "packages", state).refusal().kind == "epoch"
    assert peak_bytes(coordinator.process.pid) - before < 50 << 20


def peak_bytes(process: int) -> int:
    """The most anonymous memory that it ever had, without files that are mapped."""
    status = Path(f"/proc/{process}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields["VmHWM"].split()[0]) * 1024 if "VmHWM" in fields else 0


def test_what_the_coordinator_keeps_is_for_nobody_else(coordinator: RunningCoordinator) -> None:
    for path in coordinator.log.parent.rglob("*.sqlite"):
        assert path.stat().st_mode & 0o077 == 0, path
