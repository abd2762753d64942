"""Round trips by every way, from the kernel where it has one; and silence with its reason."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from ipmicra.cli.main import program
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.lab.loopback.layout import WebLayout, crawler_address
from ipmicra.lab.loopback.layout import round_trip_ms as between_cities_ms
from ipmicra.lab.loopback.pages import made_sites
from ipmicra.lab.loopback.server import LoopbackWeb
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, FetchFailed, FetchRequest
from ipmicra.model.probes import NoAnswer
from ipmicra.net.address_guard import AddressGuard
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.probing.prober import Prober
from ipmicra.probing.result import ProbeOutcome, round_trip_in
from ipmicra.probing.settings import ProbeMethod, ProbingSettings
from ipmicra.testing.plain_site import answer, serving
from ipmicra.testing.scripted_fetcher import ScriptedAnswer, ScriptedFetcher
from tests.coordinator.coordinator_process import free_port
from tests.crawler.local_site import Answer as Site
from tests.crawler.local_site import LocalSite

HOME = ipaddress.ip_address("127.0.0.1")
LOOPBACK = AddressGuard(open_ranges=["127.0.0.0/8", "::1/128"])
HASTY = ProbingSettings(patience_ms=300)


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def probed(way: ProbeMethod, port: int, guard: AddressGuard = LOOPBACK, tries: int = 1) -> ProbeOutcome:
    prober = Prober(ProbingSettings(patience_ms=300, tries=tries), guard)
    return asyncio.run(prober.probe_with(way, HOME, port))


@pytest.mark.parametrize("tries", [1, 5])
def test_connecting_measures_the_kernels_round_trip(listening: int, tries: int) -> None:
    sounding = probed("connect", listening, tries=tries)
    assert sounding.round_trip_ms is not None
    assert 0 < sounding.round_trip_ms < 50
    assert sounding.to_answer().round_trip_ms == sounding.round_trip_ms


def test_a_port_without_a_listener_is_a_refusal() -> None:
    sounding = probed("connect", 1025)
    assert (sounding.round_trip_ms, sounding.silence) == (None, NoAnswer.REFUSED)


def test_a_machine_that_serves_nothing_answers_by_refusing() -> None:
    sounding = asyncio.run(Prober(HASTY, LOOPBACK).probe_host(ipaddress.ip_address("127.77.0.1")))
    assert sounding.method == "connect"
    assert sounding.round_trip_ms is not None
    assert 0 < sounding.round_trip_ms < 300


@pytest.mark.parametrize(
    ("guard", "ways"),
    [(AddressGuard(), ("connect", "icmp")), (LOOPBACK, ("answer",))],
    ids=["guard", "proxy"],
)
def test_a_machine_that_may_not_or_cannot_be_met_is_silent(
    guard: AddressGuard, ways: tuple[ProbeMethod, ...]
) -> None:
    settings = ProbingSettings(ways=ways, patience_ms=300)
    sounding = asyncio.run(Prober(settings, guard).probe_host(HOME))
    assert (sounding.round_trip_ms, sounding.silence) == (None, NoAnswer.REFUSED)


def test_an_address_that_the_guard_refuses_gets_no_packet(listening: int) -> None:
    sounding = probed("connect", listening, guard=AddressGuard())
    assert sounding.silence is NoAnswer.REFUSED
    assert "not public" in sounding.detail


def test_a_full_queue_is_a_time_out() -> None:
    """A server that accepts nobody, its queue full: the next connection gets no answer."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = server.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        sounding = probed("connect", port)
        for filler in fillers:
            filler.close()
    assert (sounding.round_trip_ms, sounding.silence) == (None, NoAnswer.TIMED_OUT)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_icmp_measures_where_it_is_allowed_and_says_so_where_not(address: str) -> None:
    prober = Prober(HASTY, LOOPBACK)
    sounding = asyncio.run(prober.probe_with("icmp", ipaddress.ip_address(address)))
    if sounding.round_trip_ms is None:
        assert sounding.silence is NoAnswer.REFUSED, sounding
    else:
        assert 0 < sounding.round_trip_ms < 300


def test_head_asks_the_site_and_fetches_teach_the_prober() -> None:
    async def serve(head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        assert head.startswith("HEAD / HTTP/1.1")
        writer.write(answer(b"", length=5000))
        await writer.drain()
        return True

    async def act() -> None:
        fetching = FetchingSettings(open_ranges=("127.0.0.0/8",))
        async with serving(serve) as site, WebFetcher(fetching, "test") as fetcher:
            prober = Prober(HASTY, LOOPBACK, fetcher=fetcher)
            asked = await prober.probe_with("head", HOME, site.port, site.url(""))
            assert asked.round_trip_ms is not None
            again = await prober.probe(HOME, site.port)
            assert (again.method, again.round_trip_ms) == ("passive", asked.round_trip_ms)
            assert site.connections == [1]

    asyncio.run(act())


class TestPassive:
    def passive(self) -> PassiveRoundTrips:
        self.now = 0.0
        settings = ProbingSettings(passive_seconds_max=100, passive_addresses_max=2)
        return PassiveRoundTrips(settings, clock=lambda: self.now)

    def seen(self, passive: PassiveRoundTrips, address: str, round_trip_ms: float) -> None:
        async def act() -> None:
            page = ScriptedAnswer(address=ipaddress.ip_address(address), round_trip_ms=round_trip_ms)
            async with ScriptedFetcher({"http://a.org/": page}) as fetcher:
                passive.record_outcome(await fetcher.fetch(FetchRequest(url="http://a.org/")))

        asyncio.run(act())

    def test_the_least_of_a_window_counts(self) -> None:
        passive = self.passive()
        for self.now, round_trip_ms, expected in [
            (0, 30, 30),
            (10, 20, 20),
            (50, 25, 20),
            (120, 40, 40),
        ]:
            self.seen(passive, "8.8.8.8", round_trip_ms)
            known = passive.recent(ipaddress.ip_address("8.8.8.8"))
            assert known is not None
            assert known.round_trip_ms == expected

    def test_it_grows_old_and_memory_is_bounded(self) -> None:
        passive = self.passive()
        for address in ("8.8.8.8", "9.9.9.9", "1.1.1.1"):
            self.seen(passive, address, 10)
        assert len(passive) == 2
        assert passive.recent(ipaddress.ip_address("8.8.8.8")) is None
        self.now = 101
        assert passive.recent(ipaddress.ip_address("1.1.1.1")) is None

    def test_failures_teach_too_where_they_connected(self) -> None:
        passive = self.passive()
        failed = FetchFailed(url="http://a.org/", kind=FailureKind.RESET, detail="", address=HOME)
        passive.record_outcome(failed)
        assert len(passive) == 0


def test_an_answer_shows_the_same_round_trip_on_a_new_connection_and_on_a_kept_one() -> None:
    """On loopback the kernel shakes hands at once, so the delay between two cities is in the answers."""
    far_ms = between_cities_ms("Oslo", "Lisbon")
    port = free_port()
    made = made_sites(1, 12, 1, port)
    site = next(site for site in made if site.city == "Lisbon")
    layout = WebLayout.of(made)
    address = next(address for address, each in layout.sites.items() if each is site)
    fetching = FetchingSettings(
        open_ranges=("127.0.0.0/8",), source_address=str(crawler_address("Oslo"))
    )

    async def act() -> list[float | None]:
        web = LoopbackWeb({address: site}, port, layout.round_trip_ms)
        async with web, WebFetcher(fetching, "test") as fetcher:
            request = FetchRequest(url=f"http://{address}:{port}/", method="HEAD")
            outcomes = [await fetcher.fetch(request) for _ in range(2)]
            assert [isinstance(o, Fetched) and o.reused for o in outcomes] == [False, True]
            return [round_trip_in(outcome, by_answers=True) for outcome in outcomes]

    fresh_ms, kept_ms = asyncio.run(act())
    assert fresh_ms is not None
    assert kept_ms is not None
    assert far_ms <= fresh_ms < far_ms + 40
    assert far_ms <= kept_ms < far_ms + 40


def test_the_command_reports_the_round_trip_of_a_method(listening: int) -> None:
    arguments = [
        "probe",
        f"http://127.0.0.1:{listening}/",
        "--way",
        "connect",
        "--allow-range",
        "127.0.0.0/8",
    ]
    outcome = CliRunner().invoke(program, [*arguments, "--json"])
    assert outcome.exit_code == 0, outcome.output
    lines = json.loads(outcome.stdout)
    assert [(line["way"], line["silence"]) for line in lines] == [("connect", "")]
    assert lines[0]["round_trip_ms"] > 0


def test_an_answer_is_timed_to_its_first_byte_thinking_included() -> None:
    async def play() -> tuple[ProbeOutcome, ProbeOutcome]:
        slow = LocalSite({"/": Site(b"slow", seconds=0.2)})
        web = WebFetcher(FetchingSettings(open_ranges=("127.0.0.0/8",)), "test")
        async with slow.serving() as site, web as fetcher:
            prober = Prober(HASTY, LOOPBACK, fetcher=fetcher)
            by_kernel = await prober.probe_with("head", HOME, site.port, site.address)
            return by_kernel, await prober.probe_with("answer", HOME, site.port, site.address)

    by_kernel, by_answer = asyncio.run(play())
    assert by_kernel.round_trip_ms is not None
    assert by_answer.round_trip_ms is not None
    assert by_kernel.round_trip_ms < 100 < 200 <= by_answer.round_trip_ms


def test_a_machine_that_the_guard_refuses_is_not_met(listening: int) -> None:
    async def act() -> ProbeOutcome:
        prober = Prober(ProbingSettings(), AddressGuard(), PassiveRoundTrips(ProbingSettings()))
        return await prober.probe_host(ipaddress.ip_address("127.0.0.1"))

    outcome = asyncio.run(act())
    assert outcome.silence is NoAnswer.REFUSED
    assert "not public" in outcome.detail
