"""A fetcher without network, and the broker that resolves, judges and connects for it."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ipmicra.addresses import AddressRange
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.host.broker.broker import Broker
from ipmicra.host.broker.client import BrokerClient
from ipmicra.host.broker.onlink import OnlinkRoute
from ipmicra.host.broker.policy import ConnectPolicy, ConnectRefusal
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.sandbox.monitor.throttled_log import ThrottledLog
from ipmicra.host.settings import HostSettings
from ipmicra.host.store import HostStore
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, FetchRequest
from ipmicra.net.tcp_connector import DirectConnector
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.probing.settings import ProbingSettings
from ipmicra.protocol.broker_messages import Connect
from ipmicra.testing.plain_site import serving
from tests.crawler.fetching.loopback_fetching import LOOPBACK, kind_of, says_here, trusting
from tests.hostile.certificates import Authority
from tests.hostile.made_up_names import MadeUpNames


class BrokerHarness:
    """A broker, its client, and what the broker has to do with."""

    def __init__(self, folder: Path, names: MadeUpNames, fetching: FetchingSettings) -> None:
        self.log: list[str] = []
        self.rest: str | None = None
        self.store = HostStore(folder)
        host = HostSettings(connections_max=4)
        self.meter = UsageMeter(self.store, host, lambda: datetime.now(UTC))
        self.passive = PassiveRoundTrips(ProbingSettings())
        ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self.channel = ours
        remarks = ThrottledLog(self.log.append)
        self.broker = Broker(
            ours, host, fetching, self.meter, names, lambda: self.rest, remarks, self.passive
        )


@asynccontextmanager
async def desk(
    folder: Path, names: MadeUpNames, fetching: FetchingSettings = LOOPBACK
) -> AsyncIterator[tuple[BrokerHarness, BrokerClient]]:
    made = BrokerHarness(folder, names, fetching)
    made.broker.open()
    client = BrokerClient(made.theirs)
    try:
        yield made, client
    finally:
        client.disconnect()
        await made.broker.close()
        made.theirs.close()
        made.channel.close()
        made.store.close()


def test_tls_and_the_kernels_round_trip_work_on_a_passed_socket(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    settings = trusting(authority)

    async def act() -> None:
        names = MadeUpNames({"a.org": [["127.0.0.1"]]})
        tls = authority.context("a.org")
        async with (
            serving(says_here, tls=tls) as site,
            desk(tmp_path, names, settings) as (made, client),
            WebFetcher(settings, "test", client, client) as fetcher,
        ):
            outcome = await fetcher.fetch(FetchRequest(url=site.url("/", "a.org", "https")))
            assert isinstance(outcome, Fetched)
            assert outcome.timings.round_trip_ms is not None
            made.broker.connections.count()
            assert made.meter.used_bytes()[0] > len(outcome.body)
            assert made.passive.recent(outcome.address) is not None

    asyncio.run(act())


@pytest.mark.parametrize("address", ["10.1.2.3", "169.254.169.254", "100.100.1.1"])
def test_a_name_that_points_inside_is_refused_and_written_down(tmp_path: Path, address: str) -> None:
    everywhere = FetchingSettings(open_ranges=("0.0.0.0/0",))  # what the code says of itself

    async def act() -> None:
        names = MadeUpNames({"rebound.org": [[address]]})
        async with (
            desk(tmp_path, names) as (made, client),
            WebFetcher(everywhere, "test", client, client) as fetcher,
        ):
            outcome = await fetcher.fetch(FetchRequest(url="http://rebound.org/"))
            assert kind_of(outcome) is FailureKind.REFUSED_ADDRESS
            assert f"{address} is not public" in made.log[0]

    asyncio.run(act())


def test_what_either_side_closes_is_let_go_at_once(tmp_path: Path) -> None:
    async def act() -> None:
        async with (
            serving(says_here) as site,
            desk(tmp_path, MadeUpNames({})) as (made, client),
        ):
            for _ in range(12):  # of four at a time
                async with WebFetcher(LOOPBACK, "test", client, client) as fetcher:
                    outcome = await fetcher.fetch(FetchRequest(url=site.url("/")))
                    assert isinstance(outcome, Fetched)
            async with asyncio.timeout(5):
                while len(made.broker.connections):
                    await asyncio.sleep(0.01)

    asyncio.run(act())


def test_a_rest_cuts_what_is_open_and_refuses_what_is_new(tmp_path: Path) -> None:
    async def act() -> None:
        async with (
            serving(says_here) as site,
            desk(tmp_path, MadeUpNames({})) as (made, client),
            WebFetcher(LOOPBACK, "test", client, client) as fetcher,
        ):
            await fetcher.fetch(FetchRequest(url=site.url("/")))
            assert len(made.broker.connections) == 1
            made.rest = "is paused by its owner"
            assert made.broker.close_connections() == 1
            outcome = await fetcher.fetch(FetchRequest(url=site.url("/")))
            assert kind_of(outcome) is FailureKind.NO_NETWORK
            made.rest = None
            assert isinstance(await fetcher.fetch(FetchRequest(url=site.url("/"))), Fetched)

    asyncio.run(act())


def test_a_connection_is_written_down_before_its_first_packet_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that fails is in the owner's log too."""

    async def act() -> None:
        async with (
            serving(says_here) as site,
            desk(tmp_path, MadeUpNames({})) as (made, client),
            WebFetcher(LOOPBACK, "test", client, client) as fetcher,
        ):
            steps: list[str] = []
            monkeypatch.setattr(made.meter, "record_contact", lambda *_: steps.append("noted"))
            connect = DirectConnector.connect

            async def connected(*words: object) -> socket.socket:
                steps.append("connects")
                return await connect(*words)  # type: ignore[arg-type]

            monkeypatch.setattr(DirectConnector, "connect", connected)
            await fetcher.fetch(FetchRequest(url=site.url("/")))
            assert steps == ["noted", "connects"]

    asyncio.run(act())


def test_a_neighbour_with_a_public_address_is_refused() -> None:
    neighbours = [OnlinkRoute(AddressRange.parse("93.184.216.0/24"), 24, direct=True)]
    policy = ConnectPolicy(FetchingSettings(), lambda: None, lambda: neighbours)
    policy.record_resolution("a.org", [ipaddress.ip_address("93.184.216.34")])
    refused = policy.decide(Connect(1, "a.org", "93.184.216.34", 80, 1_000))
    assert isinstance(refused, ConnectRefusal)
    assert "on this machine's own network" in refused.why
