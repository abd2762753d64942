"""One contract over the scripted coordinator and the real one: what the dock is tested with is true."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from ipmicra.carrier.package import digest_of, pack
from ipmicra.protocol.host_messages import Heartbeat, Orders
from ipmicra.protocol.signing import RequestSignature, signed_headers
from ipmicra.testing.page_records import seen
from tests.coordinator.coordinator_process import running_coordinator
from tests.coordinator.played_host import PlayedHost
from tests.host.scripted_coordinator import TOKEN, ScriptedCoordinator

HEARTBEAT = msgspec.msgpack.encode(Heartbeat())
ALTERED = msgspec.msgpack.encode(Heartbeat(pages=1_000_000))


@contextmanager
def scripted() -> Iterator[tuple[int, str]]:
    """Port and token of a scripted coordinator, in a thread of its own."""
    home, ready, loop = ScriptedCoordinator(), threading.Event(), asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with home.serving():
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait(20)
    try:
        yield home.port, TOKEN
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


@contextmanager
def real(folder: Path) -> Iterator[tuple[int, str]]:
    with running_coordinator(folder, f"sqlite:///{folder / 'rows.sqlite'}") as coordinator:
        yield (
            coordinator.port,
            msgspec.json.decode(coordinator.rows("register", "lima", "--json"))["token"],
        )


@pytest.fixture(params=["scripted", "real"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[int, str]]:
    with scripted() if request.param == "scripted" else real(tmp_path) as found:
        yield found


def test_what_a_host_meets(home: tuple[int, str]) -> None:
    port, token = home
    host = PlayedHost(port, "lima")
    assert host.enrol("wrong").refusal().kind == "token"
    assert host.enrol(token).status == 200
    assert host.enrol(token).refusal().kind == "token"
    check_signatures(host)
    check_packages(host)
    assert host.orders(wait=0).orders == ()
    assert host.fetch_state("https://not-ours.example").refusal().kind == "not-owner"
    assert host.leave().status == 200
    assert host.ask("POST", "/v1/host/report", "reports", HEARTBEAT).refusal().kind == "not-enrolled"


def check_signatures(host: PlayedHost) -> None:
    path = "/v1/host/report"
    assert host.send("POST", path, HEARTBEAT, {}).refusal().kind == "unsigned"
    headers = host.signed("POST", path, "reports", HEARTBEAT)
    assert host.send("POST", path, ALTERED, headers).refusal().kind == "digest"
    assert host.send("POST", path, HEARTBEAT, headers).read(Orders).lease_s > 0
    replayed = host.send("POST", path, HEARTBEAT, headers)
    assert (replayed.status, replayed.refusal().kind) == (409, "sequence")
    host.sequences["reports"] += 1
    hours_ago = RequestSignature("lima", "reports", 1_000, host.sequences["reports"], b"")
    late = host.send(
        "POST", path, HEARTBEAT, signed_headers(host.key, "POST", path, HEARTBEAT, hours_ago)
    )
    assert (late.status, late.refusal().kind) == (403, "clock")
    assert abs(late.refusal().server_time_ms - time.time() * 1000) < 60_000


def check_packages(host: PlayedHost) -> None:
    data, other = (pack([seen(f"https://a.example/{page}")], "lima", 1) for page in (1, 2))
    assert host.send_package(1, data).status == 200
    assert host.send_package(1, data).status == 200
    number = host.send_package(1, other)
    assert (number.status, number.refusal().kind) == (409, "number")
    epoch = host.send_package(2, other, epoch=7)
    assert (epoch.status, epoch.refusal().kind) == (409, "epoch")
    path = f"/v1/host/packages/3?digest={digest_of(data)}&epoch=0"
    digest = host.ask("PUT", path, "packages", other)
    assert (digest.status, digest.refusal().kind) == (409, "digest")
